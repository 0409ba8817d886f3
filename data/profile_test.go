package data

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestProfile: quantiles, bins and shares of columns, also of few values, and of numbers that name the rows.
func TestProfile(t *testing.T) {
	n := 200
	set := &Set{Features: []string{"id", "flag", "same", "half"}, X: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 4))}
	x := set.X.Float32s()
	for i := range n {
		x[4*i], x[4*i+2], x[4*i+3] = float32((i*77)%n), 5, float32(i)/2
		if i%20 == 0 {
			x[4*i+1] = 1
		}
	}
	all := set.Profile()
	if len(all) != 4 || all[0].Name != "id" || !all[0].Serial || all[1].Serial || all[2].Serial || all[3].Serial {
		t.Fatalf("profiles %+v", all)
	}
	for _, p := range all {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		p.Shares = p.Shares[1:]
		if p.Check() == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	if p := all[0]; p.Quantiles[0] != 0 || p.Quantiles[10] != 199 || len(p.Edges) != 9 || math.Abs(p.Shares[3]-0.1) > 0.006 {
		t.Errorf("profile %+v", p)
	}
	if p := all[1]; !slices.Equal(p.Edges, []float64{0}) || math.Abs(p.Shares[1]-0.05) > 1e-12 || p.Bin(0) != 0 || p.Bin(0.5) != 1 || p.Bin(-3) != 0 {
		t.Errorf("profile of a flag %+v", p)
	}
	if p := all[2]; len(p.Edges) != 0 || len(p.Shares) != 1 || math.Abs(p.Shares[0]-1) > 1e-9 {
		t.Errorf("profile of a column that does not vary %+v", p)
	}
	if (&Set{X: set.X}).Profile() != nil {
		t.Error("inputs that are no columns have a profile")
	}
}
