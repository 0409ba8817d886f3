package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// trustTable is a table of the bench of trust.
type trustTable struct {
	lawTable
	classes   int     // of a table of classes; 0 means numbers
	centres   bool    // the classes are overlapping clouds around centres; otherwise parts of a number
	wrong     float64 // share of wrong labels in the training rows
	imbalance float64 // share of the first class among clouds; 0 means an equal share
}

// trustTables are the tables of the bench: those of the laws, further sizes, and classes.
func trustTables() (all []trustTable) {
	for _, l := range lawTables {
		all = append(all, trustTable{lawTable: l})
	}
	even := func(r *rand.Rand, _ []float64) float64 { return 0.3 * r.NormFloat64() }
	for _, l := range []lawTable{
		{"even noise", 400, even}, {"even noise", 3000, even}, {"outliers", 80, outlierNoise}, {"outliers", 3000, outlierNoise},
		{"heavy tails", 200, func(r *rand.Rand, _ []float64) float64 { return 0.3 * studentNoise(r, 3) }},
	} {
		all = append(all, trustTable{lawTable: l})
	}
	logistic := func(r *rand.Rand, _ []float64) float64 { u := r.Float64(); return 0.5 * math.Log(u/(1-u)) }
	for _, n := range []int{100, 400, 1500} {
		all = append(all, trustTable{lawTable: lawTable{name: "clouds", rows: n, noise: even}, classes: 3, centres: true},
			trustTable{lawTable: lawTable{name: "parts", rows: n, noise: logistic}, classes: 2})
	}
	all = append(all,
		trustTable{lawTable: lawTable{name: "clouds, wrong labels", rows: 400, noise: even}, classes: 3, centres: true, wrong: 0.15},
		trustTable{lawTable: lawTable{name: "clouds, wrong labels", rows: 1500, noise: even}, classes: 3, centres: true, wrong: 0.15},
		trustTable{lawTable: lawTable{name: "clouds, a rare class", rows: 600, noise: even}, classes: 3, centres: true, imbalance: 0.04})
	for _, name := range []string{"boston", "concrete", "energy"} {
		all = append(all, trustTable{lawTable: lawTable{name: name}, classes: 3})
	}
	return append(all, trustTable{lawTable: lawTable{name: "taxi-green", rows: 1000}, classes: 2}, trustTable{lawTable: lawTable{name: "kin8nm", rows: 1000}, classes: 4})
}

// String names the table.
func (l trustTable) String() string {
	if l.classes > 0 {
		return fmt.Sprintf("%v, %d classes", l.lawTable, l.classes)
	}
	return l.lawTable.String()
}

// open returns the training rows and the test rows of a table. The seed chooses the rows, or makes them.
func (l trustTable) open(t *testing.T, seed uint64) (train, test *data.Set) {
	if l.centres {
		r := rand.New(rand.NewPCG(seed, 8))
		centres := make([]float64, 2*l.classes*cloudInputs)
		for i := range centres {
			centres[i] = 1.2 * r.NormFloat64()
		}
		train, test = l.clouds(r, centres, l.rows), l.clouds(r, centres, lawTestRows)
	} else {
		train, test = l.lawTable.open(t, seed)
		if l.classes > 0 {
			bounds := slices.Sorted(slices.Values(train.Y.Float64s()))
			l.part(train, bounds)
			l.part(test, bounds)
		}
	}
	r := rand.New(rand.NewPCG(seed, 9))
	for i, y := range train.Y.Float64s() {
		if r.Float64() < l.wrong {
			train.Y.Float64s()[i] = float64((int(y) + 1 + r.IntN(l.classes-1)) % l.classes)
		}
	}
	return train, test
}

// part replaces the targets by classes of equal shares, which sorted targets bound.
func (l trustTable) part(s *data.Set, sorted []float64) {
	for i, y := range s.Y.Float64s() {
		class := 0
		for k := 1; k < l.classes; k++ {
			if y >= sorted[k*len(sorted)/l.classes] {
				class = k
			}
		}
		s.Y.Float64s()[i] = float64(class)
	}
}

// cloudInputs is the number of inputs of clouds.
const cloudInputs = 6

// clouds returns n rows of classes with two Gaussian clouds each around centres.
func (l trustTable) clouds(r *rand.Rand, centres []float64, n int) *data.Set {
	x, y := make([]float64, n*cloudInputs), make([]float64, n)
	for i := range n {
		class := r.IntN(l.classes)
		if l.imbalance > 0 {
			class = 1 + r.IntN(l.classes-1)
			if r.Float64() < l.imbalance {
				class = 0
			}
		}
		cloud := 2*class + r.IntN(2)
		y[i] = float64(class)
		for j := range cloudInputs {
			x[i*cloudInputs+j] = centres[cloud*cloudInputs+j] + r.NormFloat64()
		}
	}
	return &data.Set{Features: []string{"a", "b", "c", "d", "e", "f"}, Targets: []string{"y"},
		X: tensor.New(tensor.WithShape(n, cloudInputs), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
}
