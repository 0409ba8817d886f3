package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/small"
)

// truth is a model that is right: mean and standard deviation of the target at the inputs a to e, and an id that it ignores
// unless leak is not 0.
type truth struct{ leak float64 }

func (m truth) at(x []float64) (mean, std float64) {
	return 2*math.Sin(x[0]) + x[1] + 0.3*x[2] - 0.01*(x[4]-50) + m.leak*x[5], 0.3 + 0.2*math.Abs(x[3])
}

var inputs = []string{"a", "b", "c", "d", "e", "id"}

// drawn are rows whose targets follow the model.
type drawn struct {
	x, y []float64 // inputs [N,6] and targets [N]
	bars float64   // factor of the error bars
}

// draw draws n rows with numbers from first on.
func draw(n, first int, m truth, rng *rand.Rand) *drawn {
	d := &drawn{bars: 1}
	order := rng.Perm(n)
	for i := range n {
		x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), 50 + 10*rng.NormFloat64(), float64(first + order[i])}
		mean, std := m.at(x)
		d.x, d.y = append(d.x, x...), append(d.y, mean+std*rng.NormFloat64())
	}
	return d
}

// rows returns the rows with the predictions of the model.
func (d *drawn) rows(m truth, train *drawn) *Rows {
	r := &Rows{Names: inputs, X: d.x, Y: d.y, Train: data.Profiles(inputs, train.x), Level: 0.95, Target: d.y, Expected: math.NaN()}
	for i, y := range d.y {
		mean, std := m.at(d.x[6*i : 6*i+6])
		z, inside := (y-mean)/(std*d.bars), 0.0
		if math.Abs(z) < 1.96 {
			inside = 1
		}
		r.Z, r.Mean, r.Std, r.Inside = append(r.Z, z), append(r.Mean, mean), append(r.Std, std), append(r.Inside, inside)
	}
	r.Probe = func(x []float64, rows []int) (a Answer, _ error) {
		for i, row := range rows {
			mean, std := m.at(x[6*i : 6*i+6])
			z := (d.y[row] - mean) / (std * d.bars)
			a.Center, a.Width, a.Loss = append(a.Center, mean), append(a.Width, math.Log(std)), append(a.Loss, z*z/2+math.Log(std))
		}
		return a, nil
	}
	return r
}

// column applies f to a column.
func (d *drawn) column(j int, f func(v float64) float64) {
	for i := j; i < len(d.x); i += 6 {
		d.x[i] = f(d.x[i])
	}
}

// planted are faults of rows, and the first finding that they should bring about.
var planted = []struct {
	name, kind string
	columns    string // names of the columns of the finding
	leak       float64
	spoil      func(d *drawn, rng *rand.Rand)
}{
	{"wrong labels in a slice", SliceOff, "a", 0, func(d *drawn, rng *rand.Rand) {
		for i := range d.y {
			if d.x[6*i] > 1 {
				d.y[i] = 2 * rng.NormFloat64()
			}
		}
	}},
	{"a drifted column", Drift, "d", 0, func(d *drawn, _ *rand.Rand) { d.column(3, func(v float64) float64 { return v + 1 }) }},
	{"another unit", Unit, "e", 0, func(d *drawn, _ *rand.Rand) { d.column(4, func(v float64) float64 { return v / 2.54 }) }},
	{"narrow bars", Narrow, "", 0, func(d *drawn, _ *rand.Rand) { d.bars = 0.7 }},
	{"a leaking id", Identifier, "id", 0.001, func(*drawn, *rand.Rand) {}},
	{"a copied block", Duplicates, "", 0, func(d *drawn, _ *rand.Rand) {
		copy(d.x[6*900:6*1000], d.x[6*100:6*200])
		copy(d.y[900:1000], d.y[100:200])
	}},
	{"exchanged columns", Exchanged, "b c", 0, func(d *drawn, _ *rand.Rand) {
		for i := range d.y {
			d.x[6*i+1], d.x[6*i+2] = d.x[6*i+2], d.x[6*i+1]
		}
	}},
	{"a constant column", Constant, "b", 0, func(d *drawn, _ *rand.Rand) { d.column(1, func(float64) float64 { return 0 }) }},
	{"shifted targets", Shift, "", 0, func(d *drawn, _ *rand.Rand) {
		for i := range d.y {
			d.y[i] += 0.3
		}
	}},
	{"heavy tails", Tails, "", 0, func(d *drawn, rng *rand.Rand) {
		for i := range d.y {
			mean, std := truth{}.at(d.x[6*i : 6*i+6])
			chi := rng.ExpFloat64() // half of χ² with two degrees of freedom
			d.y[i] = mean + 0.8*std*rng.NormFloat64()/math.Sqrt(chi)
		}
	}},
}

// audited returns what an audit finds in 2,000 rows that were spoiled.
func audited(t *testing.T, seed uint64, leak float64, spoil func(*drawn, *rand.Rand)) *Result {
	t.Helper()
	rng, m := rand.New(rand.NewPCG(seed, 7)), truth{leak}
	train, d := draw(3000, 0, m, rng), draw(2000, 3000, m, rng)
	if leak == 0 { // the table has no id
		for _, of := range []*drawn{train, d} {
			of.column(5, func(float64) float64 { return rng.Float64() })
		}
	}
	spoil(d, rng)
	out, err := Run(d.rows(m, train))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestText: findings have values as the data write them.
func TestText(t *testing.T) {
	rng, m := rand.New(rand.NewPCG(1, 7)), truth{}
	train, d := draw(3000, 0, m, rng), draw(2000, 3000, m, rng)
	d.column(3, func(v float64) float64 { return v + 1 })
	r := d.rows(m, train)
	r.Text = func(name string, v float64) string { return fmt.Sprintf("<%s %.0f>", name, 10*v) }
	var text []string
	for _, f := range small.Must(t, func() (*Result, error) { return Run(r) }).Findings {
		text = append(text, f.Text)
	}
	if all := strings.Join(text, " "); !strings.Contains(all, "its median is <d 10> and was <d 0>") {
		t.Errorf("findings %s", all)
	}
	r.Inside = slices.Repeat([]float64{1}, r.N())
	for _, a := range r.axes(10)[:6] {
		if text := a.text(0, 0); !strings.Contains(text, "≤ <"+a.name) {
			t.Errorf("slice %q", text)
		}
	}
}

// TestPlanted: the first finding is the fault that was planted.
func TestPlanted(t *testing.T) {
	for _, p := range planted {
		for seed := range uint64(2) {
			out := audited(t, seed, p.leak, p.spoil)
			if len(out.Findings) == 0 {
				t.Errorf("%s: nothing found", p.name)
				continue
			}
			f := out.Findings[0]
			if f.Kind != p.kind || strings.Join(f.Columns, " ") != p.columns || f.Text == "" || f.Follows {
				t.Errorf("%s, seed %d: found %+v", p.name, seed, out.Findings)
			}
			if f.Kind == Constant && strings.Contains(f.Text, "hardly depend") {
				t.Errorf("equal values cannot tell whether predictions depend on them: %s", f.Text)
			}
		}
	}
}

// TestTraded: inputs that come from one column of the data have not changed places.
func TestTraded(t *testing.T) {
	r := &Rows{Names: []string{"city=Bonn", "city=New York", "city other", "a", "a missing", "cities"}}
	for pair, want := range map[[2]int]bool{{0, 1}: false, {0, 2}: false, {3, 4}: false, {0, 3}: true, {2, 5}: true} {
		if got := r.traded(pair[0], pair[1]); got != want {
			t.Errorf("%s and %s: %t", r.Names[pair[0]], r.Names[pair[1]], got)
		}
	}
}

// TestMixedRowsRefused: a network that takes no rows with exchanged values is judged by the other findings.
func TestMixedRowsRefused(t *testing.T) {
	rng, m := rand.New(rand.NewPCG(1, 7)), truth{0}
	train, d := draw(3000, 0, m, rng), draw(2000, 3000, m, rng)
	for i := range d.y {
		d.y[i] += 3 // so that pairs of columns are tried
	}
	r := d.rows(m, train)
	plain, calls := r.Probe, 0
	ends := errors.New("predict: row 3: the network's output is NaN")
	r.Probe = func(x []float64, rows []int) (Answer, error) {
		if calls++; !slices.Equal(x, r.taken(rows)) {
			return Answer{}, ends
		}
		return plain(x, rows)
	}
	if out, err := Run(r); err != nil || len(out.Findings) == 0 || calls < 3 {
		t.Errorf("found %+v after %d probes, error %v", out, calls, err)
	}
	if ends = context.Canceled; !errors.Is(second(Run(r)), context.Canceled) {
		t.Error("an interrupted audit goes on")
	}
}

func second(_ *Result, err error) error { return err }

// TestClean: nothing is found in rows that are as predicted.
func TestClean(t *testing.T) {
	for seed := range uint64(20) {
		if out := audited(t, 100+seed, 0, func(*drawn, *rand.Rand) {}); len(out.Findings) > 0 {
			t.Errorf("seed %d: %+v", seed, out.Findings)
		}
	}
}
