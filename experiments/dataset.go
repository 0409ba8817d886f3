package experiments

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/spec"
	"gorgonia.org/tensor"
)

// dataset is a data set by name: it fills in all of a problem but its network.
type dataset interface {
	load(ctx context.Context, l loading) (*Problem, error)
}

// loading says what of a data set is wanted.
type loading struct {
	name       string
	root       string // the data folder
	seed       uint64 // of random splits
	validation float64
	dtype      tensor.Dtype
	network    spec.Network
}

// datasets are those of package sets.
var datasets = map[string]dataset{}

func init() {
	for _, s := range sets.All() {
		switch {
		case s.Name == "cifar10":
			datasets[s.Name] = cifarData{s}
		case s.HasImages():
			datasets[s.Name] = imageData{s}
		default:
			datasets[s.Name] = tableData{s}
		}
	}
}

// Datasets returns the names of the data sets.
func Datasets() []string { return slices.Sorted(maps.Keys(datasets)) }

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
