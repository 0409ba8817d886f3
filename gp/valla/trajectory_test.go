package valla

import (
	"context"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// recorded feeds the mini-batches of a fixture's training run.
type recorded struct {
	xn, yn *graph.Node
	x, y   []*tensor.Dense
	xb, yb *tensor.Dense
}

func (r *recorded) Inputs() map[*graph.Node]*tensor.Dense {
	return map[*graph.Node]*tensor.Dense{r.xn: r.xb, r.yn: r.yb}
}

func (r *recorded) Parts() int { return 1 }

func (r *recorded) Load(i, _ int) error {
	if err := tensor.Copy(r.xb, r.x[i]); err != nil {
		return err
	}
	return tensor.Copy(r.yb, r.y[i])
}

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
	r := p.record(t)
	b := graph.NewBuilder(p.dt)
	r.xn, r.yn = b.Input("x", p.x.Shape()...), b.Input("y", p.y.Shape()...)
	l := p.layer.Loss(b, r.xn, r.yn, p.net.Forward(b, r.xn), Objective{Likelihood: p.lik, Alpha: new(1.0), N: p.a.Int(t, "N")})
	params := append(p.layer.Params(), p.lik.Params()...)
	obj, err := train.NewGraph(b, l.Loss, params, r)
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	_, err = train.Run(context.Background(), obj, train.Config{
		Iterations: len(r.x), Optimizer: &train.Adam{LR: p.a.Scalar(t, "traj_lr")},
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

// record cuts the recorded batches apart.
func (p *problem) record(t *testing.T) *recorded {
	t.Helper()
	x, shape := p.a.F64(t, "traj_X")
	steps, width := shape[0], shape[1]*shape[2]
	r := &recorded{
		xb: tensor.New(tensor.Of(p.dt), tensor.WithShape(p.x.Shape()...)),
		yb: tensor.New(tensor.Of(p.dt), tensor.WithShape(p.y.Shape()...)),
	}
	for i := range steps {
		r.x = append(r.x, graph.Convert(tensor.New(tensor.WithShape(shape[1:]...), tensor.WithBacking(x[i*width:(i+1)*width])), p.dt))
	}
	outputs := p.y.Shape()[1]
	if p.a.Has("zc") {
		labels := p.a.Ints(t, "traj_y")
		for i := range steps {
			r.y = append(r.y, small.OneHot(labels[i*shape[1]:(i+1)*shape[1]], outputs, p.dt))
		}
		return r
	}
	y := p.a.Floats(t, "traj_y")
	for i := range steps {
		part := y[i*shape[1]*outputs : (i+1)*shape[1]*outputs]
		r.y = append(r.y, graph.Convert(tensor.New(tensor.WithShape(shape[1], outputs), tensor.WithBacking(part)), p.dt))
	}
	return r
}
