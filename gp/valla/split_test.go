package valla

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// TestWideRows: in float32, with so large a prior variance that its rounding exceeds the
// posterior's, predictions equal the predictions of the same numbers in float64, also jointly.
func TestWideRows(t *testing.T) {
	for _, outputs := range []int{1, 3} {
		for _, std := range []float64{1, 30, 1e4} {
			p, q := newToy(t, 4, tensor.Float32, size{outputs, 5}), newToy(t, 4, tensor.Float64, size{outputs, 5})
			for i, w := range p.net.Params() {
				q.net.Params()[i].Value = graph.Convert(w.Value, tensor.Float64)
			}
			for i, v := range p.layer.Params() {
				*q.layer.Params()[i] = *v
				q.layer.Params()[i].Value = graph.Convert(v.Value, tensor.Float64)
			}
			p.layer.LogPriorStd.Set(0, math.Log(std))
			q.layer.LogPriorStd.Set(0, p.layer.LogPriorStd.At(0))
			// The inducing inputs themselves leave the least variance.
			one, two := newPosterior(p.net, p.layer), newPosterior(q.net, q.layer)
			x := graph.Convert(p.layer.Z.Value, tensor.Float64)
			got, err := gp.Predict(ctx, one, p.layer.Z.Value)
			if err != nil {
				t.Fatal(err)
			}
			want, err := gp.Predict(ctx, two, x)
			if err != nil {
				t.Fatal(err)
			}
			c := outputs
			for i, v := range want.Cov {
				if i%(c*c)%(c+1) == 0 && math.Abs(got.Cov[i]-v) > 1e-3*v {
					t.Errorf("C = %d, σ₀ = %g: variance %g, in float64 %g", c, std, got.Cov[i], v)
				}
			}
			_, a, err := one.Joint(ctx, p.layer.Z.Value)
			if err != nil {
				t.Fatal(err)
			}
			_, b, err := two.Joint(ctx, x)
			if err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, fmt.Sprintf("joint covariance, σ₀ = %g", std), a.Float64s(), b.Float64s(), 1e-12)
		}
	}
}

// TestEpistemic compares the epistemic variance with its formula, by inverses.
func TestEpistemic(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		p := newProblem(t, tensor.Float64, outputs, false)
		f := fit(t, Settings{Inducing: 4, Iterations: 30}, p, gp.Run{})
		g, err := gp.Predict(ctx, f.Posterior, p.Validation.X)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := gp.Predict(ctx, f.Posterior, p.Train.X)
		if err != nil {
			t.Fatal(err)
		}
		state := save(t, f.Posterior)
		b := graph.NewBuilder(tensor.Float64)
		leaf := func(name string, v *tensor.Dense) *graph.Node { return b.Param(&graph.Param{Name: name, Value: v}) }
		z, k := leaf("z", state.arrays["valla.z"]), jacobian.NTK{Net: p.Net}
		class := make([]int, 4)
		for i := range class {
			if outputs > 1 && i >= 2 {
				class[i] = 1
			}
		}
		x := leaf("x", p.Validation.X)
		values := compile(t, b, k.Gram(b, z, class), k.Cross(b, leaf("rows", p.Train.X), z, class), k.Cross(b, x, z, class), k.Diag(b, x)).values(t)
		s := math.Exp(2 * state.arrays["valla.log_prior_std"].Float64s()[0])
		scatter := 0.0
		kz, data := mat.NewDense(4, 4, values[0]), mat.NewDense(4, 4, nil)
		kz.Scale(s, kz)
		for i := range p.Train.N() * outputs {
			row := mat.NewDense(1, 4, values[1][4*i:4*i+4])
			v := rows.Cov[i*outputs+i%outputs] + f.NoiseVariance
			scatter += v - f.NoiseVariance
			outer := product(row.T(), row)
			outer.Scale(s*s/v, outer)
			data.Add(data, outer)
		}
		data.Add(data, kz)
		var want []float64
		scatter = scatter/float64(p.Train.N()*outputs) + f.NoiseVariance
		for i := range p.Validation.N() * outputs {
			row := mat.NewDense(1, 4, values[2][4*i:4*i+4])
			e := product(row, inverse(t, data), row.T())
			e.Sub(e, product(row, inverse(t, kz), row.T()))
			known := s*values[3][i*outputs+i%outputs] + s*s*e.At(0, 0)
			want = append(want, known/(known+scatter))
		}
		fixture.Close(t, fmt.Sprint("epistemic share, C = ", outputs), g.Epistemic, want, 1e-7)
	}
}

// TestEachPrediction: a pass over many inputs holds the variances of a batch, and they are those of a prediction.
func TestEachPrediction(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, false)
	post := fit(t, Settings{Inducing: 3, Iterations: 5}, p, gp.Run{}).Posterior.(*posterior)
	x := p.Train.Rows(slices.Repeat(dense.Indices(p.Train.N()), 3*predictBatch/p.Train.N())).X
	want, err := gp.Predict(ctx, post, x)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = post.eachPrediction(ctx, x, func(q *predictions, _ *tensor.Dense, first, n int) {
		if first != seen || len(q.g.Cov) != 2*n {
			t.Errorf("%d variances of %d inputs from number %d on, expected from %d on", len(q.g.Cov), n, first, seen)
		}
		fixture.Close(t, "variances", q.g.Cov, diagonals(want.Cov[4*first:4*(first+n)], 2), 1e-12)
		seen += n
	})
	if err != nil || seen != x.Shape()[0] || seen <= predictBatch {
		t.Errorf("%d inputs of %d, error %v", seen, x.Shape()[0], err)
	}
}

// TestNoSplit: where noise cannot go into the variance all of it is epistemic, and so it is
// in older files.
func TestNoSplit(t *testing.T) {
	predicted := func(p gp.Posterior, x *tensor.Dense) gp.Gaussian {
		t.Helper()
		g, err := gp.Predict(ctx, p, x)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	bound, classes := newProblem(t, tensor.Float64, 1, false), newProblem(t, tensor.Float64, 3, true)
	for what, g := range map[string]gp.Gaussian{
		"α = 0":   predicted(fit(t, Settings{Inducing: 3, Iterations: 5, Alpha: new(0.0)}, bound, gp.Run{}).Posterior, bound.Train.X),
		"classes": predicted(fit(t, Settings{Inducing: 3, Iterations: 5}, classes, gp.Run{}).Posterior, classes.Train.X),
	} {
		if g.Epistemic != nil {
			t.Errorf("%s: epistemic variances of their own", what)
		}
	}
	f := fit(t, Settings{Inducing: 3, Iterations: 5}, bound, gp.Run{})
	file := save(t, f.Posterior)
	for _, old := range []bool{false, true} {
		if old {
			file.header = []byte(`{"inducing":3,"inputs":[2]}`)
		}
		again, err := restore(ctx, bound.Net, bound.Likelihood, file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := predicted(f.Posterior, bound.Train.X), predicted(again, bound.Train.X)
		if (got.Epistemic == nil) != old || !old && fixture.RelErr(got.Epistemic, want.Epistemic) != 0 {
			t.Errorf("old %t: epistemic variances %v, want %v", old, got.Epistemic, want.Epistemic)
		}
	}
	file.header = []byte(`{"inducing":3,"inputs":[2],"scatter":-1}`)
	if _, err := restore(ctx, bound.Net, bound.Likelihood, file); err == nil || !strings.Contains(err.Error(), "variance -1, expected a positive number") {
		t.Errorf("a negative variance: error %v", err)
	}
	delete(file.arrays, "valla.l_epistemic")
	file.header = []byte(`{"inducing":3,"inputs":[2],"scatter":1}`)
	if _, err := restore(ctx, bound.Net, bound.Likelihood, file); err == nil || !strings.Contains(err.Error(), "valla.l_epistemic") {
		t.Errorf("without the array: error %v", err)
	}
}

// TestEpistemicOfMany: the epistemic part of many targets whose kernels have nothing in common, which are computed without the
// zeros, is what all numbers give.
func TestEpistemicOfMany(t *testing.T) {
	p := newProblem(t, tensor.Float64, 40, false)
	post := fit(t, Settings{Inducing: 80, Iterations: 3, Weights: []string{"last-layer"}}, p, gp.Run{}).Posterior.(*posterior)
	if !post.at.sparse {
		t.Fatal("the kernel of the inducing points is not sparse")
	}
	x, noise := p.Train.X, make([]float64, p.Train.N()*40)
	root, scatter, err := post.evidenceRoot(ctx, x, noise, 2)
	if err != nil {
		t.Fatal(err)
	}
	post.at.sparse = false
	want, all, err := post.evidenceRoot(ctx, x, noise, 2)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "L₀", root, want, 1e-9)
	fixture.Close(t, "ν", []float64{scatter}, []float64{all}, 1e-12)
}
