package train

import (
	"testing"

	"github.com/go-valla/valla/internal/kernel"

	"github.com/go-valla/valla/internal/fixture"
)

// quadratic fills the gradient of ½|A θ − b|², Aᵀ(A θ − b); A is [rows, n].
func quadratic[T kernel.Float](p Param, a, b []float64) {
	theta, g := floats[T](p.Value), floats[T](p.Grad)
	clear(g)
	n := len(theta)
	for r, target := range b {
		row := a[r*n : (r+1)*n]
		d := -target
		for i, x := range theta {
			d += row[i] * float64(x)
		}
		for i := range g {
			g[i] += T(row[i] * d)
		}
	}
}

func TestOptimizerFixture(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testOptimizerFixture[float64](t, 1e-9) })
	t.Run("float32", func(t *testing.T) { testOptimizerFixture[float32](t, 1e-4) })
}

func testOptimizerFixture[T kernel.Float](t *testing.T, tol float64) {
	f := fixture.Load(t, "adam")
	lr, wd := f.Scalar(t, "lr"), f.Scalar(t, "wd")
	theta0 := f.Floats(t, "theta0")
	g, shape := f.F64(t, "g")
	steps, n := shape[0], shape[1]
	a := f.Floats(t, "A")
	b := f.Floats(t, "b")
	for _, c := range []struct {
		key string
		o   Optimizer
	}{
		{"adam", &Adam{LR: lr}}, {"quad_adam", &Adam{LR: lr}},
		{"adam_wd", &Adam{LR: lr, WeightDecay: wd}}, {"quad_adam_wd", &Adam{LR: lr, WeightDecay: wd}},
		{"adamw", &Adam{Decoupled: true, LR: lr, WeightDecay: wd}}, {"quad_adamw", &Adam{Decoupled: true, LR: lr, WeightDecay: wd}},
		{"sgd_mom_wd", &SGD{LR: lr, Momentum: 0.5, WeightDecay: wd}}, // 0.5: the notes of adam.json
	} {
		p := newParam[T]("θ", []int{n}, theta0...)
		want := f.Floats(t, c.key)
		for s := range steps {
			if len(c.key) > 5 && c.key[:5] == "quad_" {
				quadratic[T](p, a, b)
			} else {
				copyInto(p.Grad, dense[T]([]int{n}, g[s*n:(s+1)*n]...))
			}
			if err := c.o.Step([]Param{p}, 1); err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, c.key, float64s(p.Value), want[s*n:(s+1)*n], tol)
		}
	}
}
