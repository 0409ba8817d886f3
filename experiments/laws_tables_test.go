package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
)

// lawTable is a table of the benchmark of laws.
type lawTable struct {
	name  string                                  // name in the printed table
	rows  int                                     // number of training rows; 0 means all of a real set
	noise func(r *rand.Rand, x []float64) float64 // noise of a made row; nil for a real set
}

// lawTestRows is the largest number of test rows of a table.
const lawTestRows = 2000

// lawTables are the tables of the benchmark: real sets, subsets of real sets, and made tables.
var lawTables = []lawTable{
	{name: "boston"}, {name: "concrete"}, {name: "energy"}, {name: "kin8nm"}, {name: "power"}, {name: "yacht"},
	{name: "taxi-green", rows: 300}, {name: "taxi-green", rows: 5000},
	{name: "airline-nycflights13", rows: 300}, {name: "airline-nycflights13", rows: 5000},
	{"heavy tails", 1000, func(r *rand.Rand, _ []float64) float64 { return 0.3 * studentNoise(r, 3) }},
	{"outliers", 400, outlierNoise},
	{"few rows", 80, func(r *rand.Rand, _ []float64) float64 { return 0.3 * r.NormFloat64() }},
	{"skew", 1000, func(r *rand.Rand, _ []float64) float64 { return 0.3 * math.Exp(r.NormFloat64()) }},
	{"heteroscedastic", 1000, func(r *rand.Rand, x []float64) float64 { return 0.3 * math.Exp(x[0]) * r.NormFloat64() }},
}

// studentNoise returns a draw of Student's t.
func studentNoise(r *rand.Rand, dof int) float64 {
	sum := 0.0
	for range dof {
		z := r.NormFloat64()
		sum += z * z
	}
	return r.NormFloat64() / math.Sqrt(sum/float64(dof))
}

// outlierNoise returns Gaussian noise, with a standard deviation twenty times as large in 5 % of the rows.
func outlierNoise(r *rand.Rand, _ []float64) float64 {
	if r.Float64() < 0.05 {
		return 4 * r.NormFloat64()
	}
	return 0.2 * r.NormFloat64()
}

// String names the table with its number of rows.
func (l lawTable) String() string {
	if l.rows == 0 {
		return l.name
	}
	return fmt.Sprintf("%s, %d rows", l.name, l.rows)
}

// open returns the training rows and the test rows of a table. The seed chooses the rows, or makes them.
func (l lawTable) open(t *testing.T, seed uint64) (train, test *data.Set) {
	r := rand.New(rand.NewPCG(seed, 7))
	if l.noise != nil {
		return l.made(r, l.rows), l.made(r, lawTestRows)
	}
	set, err := sets.Lookup(l.name)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := set.Table(fixture.Shared(t, "data"), seed)
	if err != nil {
		t.Fatal(err)
	}
	train, test = parts.Train, parts.Test
	if l.rows > 0 {
		train = train.Rows(r.Perm(train.N())[:l.rows])
	}
	if test.N() > lawTestRows {
		test = test.Rows(dense.Spaced(test.N(), lawTestRows))
	}
	return train, test
}

// made returns n rows of a smooth function of four inputs with the table's noise.
func (l lawTable) made(r *rand.Rand, n int) *data.Set {
	const inputs = 4
	x, y := make([]float64, n*inputs), make([]float64, n)
	for i := range n {
		row := x[i*inputs : (i+1)*inputs]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		y[i] = math.Sin(2*row[0]) + row[1]*row[2]/2 + row[3] + l.noise(r, row)
	}
	return &data.Set{Features: []string{"a", "b", "c", "d"}, Targets: []string{"y"},
		X: tensor.New(tensor.WithShape(n, inputs), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
}
