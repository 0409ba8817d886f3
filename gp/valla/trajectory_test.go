package valla

import (
	"context"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// TestFixtureTrajectory repeats the fixtures' training runs: the losses before each
// of the 20 steps and the parameters after them.
func TestFixtureTrajectory(t *testing.T) {
	for _, name := range []string{"mlp_reg", "mlp_cls"} {
		for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-4} {
			t.Run(name+" "+dt.String(), func(t *testing.T) { checkTrajectory(t, load(t, name, "tanh", dt), tol) })
		}
	}
}

func checkTrajectory(t *testing.T, p *problem, tol float64) {
	if q := p.lik.Params(); len(q) > 0 {
		q[0].Set(0, -2) // the fixture's start
	}
	e, size := p.recorded(t), p.x.Shape()[0]
	steps := slices.Collect(slices.Chunk(dense.Indices(e.N()), size))
	b := graph.NewBuilder(p.dt)
	x, y := small.Leaves(b, e, size)
	l := p.layer.Loss(b, x, y, p.net.Forward(b, x), Objective{Likelihood: p.lik, Alpha: new(1.0), N: p.a.Int(t, "N")})
	params := append(p.layer.Params(), p.lik.Params()...)
	obj, err := train.NewGraph(b, l.Loss, params, small.Batches(e, x, y, steps))
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	_, err = train.Run(context.Background(), obj, train.Config{
		Iterations: len(steps), Optimizer: &train.Adam{LR: p.a.Scalar(t, "traj_lr")},
		OnStep: func(s train.Step) { losses = append(losses, s.Loss) },
	})
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "losses", losses, p.a.Floats(t, "traj_loss"), tol)
	keys := []string{"traj_Z", "traj_L_packed", "traj_log_sigma0", "traj_log_noise"}
	for i, q := range params {
		fixture.Close(t, keys[i], q.Floats(), p.a.Floats(t, keys[i]), tol)
	}
}

// recorded are the rows of all steps' mini-batches.
func (p *problem) recorded(t *testing.T) gp.Examples {
	t.Helper()
	x, shape := p.a.F64(t, "traj_X")
	n, outputs := shape[0]*shape[1], p.y.Shape()[1]
	e := gp.Examples{X: graph.Convert(dense.Of(x, n, shape[2]), p.dt)}
	if p.a.Has("zc") {
		e.Y = small.OneHot(p.a.Ints(t, "traj_y"), outputs, p.dt)
	} else {
		e.Y = graph.Convert(dense.Of(p.a.Floats(t, "traj_y"), n, outputs), p.dt)
	}
	return e
}
