package gapa

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// newProblem draws n training rows and 20 validation rows for a network of two hidden layers with c
// outputs.
func newProblem(t testing.TB, dt tensor.Dtype, n, c int, classes bool) gp.Problem {
	t.Helper()
	return small.Task{Seed: [2]uint64{3, uint64(c)}, Dtype: dt, Rows: n, Held: 20, Hidden: []int{7, 5}, Outputs: c, Classes: classes, Std: 0.3}.Problem(t)
}

func fitted(t testing.TB, s Settings, p gp.Problem) (*gp.Fitted, *posterior) {
	t.Helper()
	f := small.Fit(t, &s, p, gp.Run{Seed: 5})
	return f, f.Posterior.(*posterior)
}

// valuesAt are u [N,d] at a site, and the network's outputs.
func valuesAt(t testing.TB, s shifted, x *tensor.Dense) (u *tensor.Dense, out []float64) {
	t.Helper()
	p, err := newPass(s, x.Shape()[1:], gp.Run{}.Limit(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	err = p.each(t.Context(), x, nil, func(_, n int, nodes []*tensor.Dense) error {
		all, out = dense.AppendRows(all, nodes[0], n), dense.AppendRows(out, nodes[1], n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph.Convert(dense.Of(all, x.Shape()[0], s.width()), x.Dtype()), out
}

// siteAt is a place of a network, by number.
func siteAt(t testing.TB, net layers.Network, x *tensor.Dense, number int) shifted {
	t.Helper()
	s, _, err := siteOf(net, x.Shape()[1:], x.Dtype(), number)
	if err != nil {
		t.Fatal(err)
	}
	return newShifted(s, x.Dtype())
}

// Factor returns s.
func (p *posterior) Factor() float64 { return p.factor }

// Layer returns the number of the layer that has the processes.
func (p *posterior) Layer() int { return p.layer }
