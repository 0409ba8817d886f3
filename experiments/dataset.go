package experiments

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/tabular"
	"github.com/go-valla/valla/experiments/spec"
	"gorgonia.org/tensor"
)

// dataset is a data set by name: it fills in all of a problem but its network.
type dataset interface {
	load(ctx context.Context, l loading) (*Problem, error)
	// folder is below the data folder.
	folder() string
}

// loading says what of a data set is wanted.
type loading struct {
	name       string
	root, dir  string // the data folder, and the data set's below it
	seed       uint64 // of random splits
	validation float64
	dtype      tensor.Dtype
	network    spec.Network
}

// datasets are all there are; those of package tabular are added below.
var datasets = map[string]dataset{
	"toy1d": tableData{dir: "toy1d", read: toyTable},
	"sine":  tableData{read: sineTable},

	"boston":   tableData{dir: "uci", read: uciTable},
	"concrete": tableData{dir: "uci", read: uciTable},
	"energy":   tableData{dir: "uci", read: uciTable},
	"kin8nm":   tableData{dir: "uci", read: uciTable},
	"power":    tableData{dir: "uci", read: uciTable},
	"yacht":    tableData{dir: "uci", read: uciTable},

	"mnist":   imageData{dir: "mnist", read: idx.MNIST, other: "fmnist"},
	"cifar10": cifarData{dir: "cifar10"},

	"fmnist": imageData{dir: "fashion-mnist", read: idx.FashionMNIST, other: "mnist"},
}

func init() {
	for _, s := range tabular.Sets() {
		datasets[s.Name] = tableData{dir: s.Folder, read: func(l loading) (parts, error) {
			// The same rows for all seeds.
			d, _, err := s.Open(l.root, tabular.Options{})
			if err != nil {
				return parts{}, err
			}
			return parts{d.Train, d.Validation, d.Test}, nil
		}}
	}
}

// Datasets returns the names of the data sets.
func Datasets() []string { return slices.Sorted(maps.Keys(datasets)) }

// DataFolder returns the folder below the data folder in which the experiments look for a
// data set.
func DataFolder(name string) string {
	if d, ok := datasets[name]; ok {
		return d.folder()
	}
	return name
}

// parts are the rows of a table; validation may be nil.
type parts struct{ train, validation, test *data.Set }

// holdout moves a fraction of the training rows to validation, where there is none.
func (p parts) holdout(fraction float64, rng *rand.Rand) parts {
	if p.validation != nil || fraction == 0 {
		return p
	}
	rows, held := data.Split(p.train.N(), fraction, rng)
	if len(rows) == 0 || len(held) == 0 {
		return p
	}
	p.validation, p.train = p.train.Rows(held), p.train.Rows(rows)
	return p
}

// toyTable is the one-dimensional set of Izmailov et al. (2020): all rows are for
// training, and scored.
func toyTable(l loading) (parts, error) {
	t, err := data.ReadTable(filepath.Join(l.root, l.dir, "data.csv"))
	if err != nil {
		return parts{}, err
	}
	set, err := t.Set("y")
	return parts{train: set, test: set}, err
}

// uciTable is one of the 20 splits of a small table, the seed's.
func uciTable(l loading) (parts, error) {
	train, test, err := data.UCI(filepath.Join(l.root, l.dir, l.name+".npz"), int(l.seed%20))
	return parts{train: train, test: test}, err
}

// sineTable is the synthetic set on which the paper shows early stopping: 300 points of
// sin 4x with noise 0.1 on [−2, 2]. Those with ½ < |x| < 1 are for training, those between
// them for validation, and all are scored.
func sineTable(loading) (parts, error) {
	rng, x := newRand(0, 8), linspace(-2, 2, 300)
	y := make([]float64, len(x))
	var train, held []int
	for i, v := range x {
		y[i] = math.Sin(4*v) + 0.1*rng.NormFloat64()
		switch a := math.Abs(v); {
		case a < 0.5:
			held = append(held, i)
		case a < 1:
			train = append(train, i)
		}
	}
	all := &data.Set{Features: []string{"x"}, Target: "y", X: column(x), Y: column(y)}
	return parts{all.Rows(train), all.Rows(held), all}, nil
}
