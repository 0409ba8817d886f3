package sampled

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

func problems(t *testing.T) []gptest.Problem {
	t.Helper()
	return small.Must(t, gptest.Problems)
}

func modelProblems(t *testing.T) []gptest.Problem {
	t.Helper()
	return small.Must(t, gptest.ModelProblems)
}

func fit(t *testing.T, p gp.Problem, s Settings, seed uint64) *gp.Fitted {
	t.Helper()
	return small.Fit(t, &s, p, gp.Run{Seed: seed})
}

// begun is a fit before its first step.
func begun(t *testing.T, p gp.Problem, s Settings) *fitting { return begunWith(t, p, s, 5) }

func begunWith(t *testing.T, p gp.Problem, s Settings, seed uint64) *fitting {
	t.Helper()
	c, err := s.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFitting(p, gp.Run{Seed: seed}, c)
	if err == nil {
		err = f.start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEquation: a sample solves its equation, written out with Jacobians, as exactly as it is
// asked to, for every observation model.
func TestEquation(t *testing.T) {
	for _, p := range append(problems(t), modelProblems(t)...) {
		s := Settings{Samples: 3, PriorStd: 0.8, Tolerance: 1e-3, Iterations: 400}
		if p.Dtype() == tensor.Float64 {
			s.Tolerance = 1e-9
		}
		f := begun(t, p.Problem, s)
		f.solve(t)
		m, b := curvatureOf(t, p.Problem, f), make([]float64, f.size)
		for i := range f.s.Samples {
			f.target(b, i, f.numbers.Lambda)
			norm := kernel.Dot(b, b)
			kernel.Axpy(-f.numbers.Lambda, f.row(f.zeta, i), b)
			kernel.Gemm(false, false, f.size, 1, f.size, -1, m, f.size, f.row(f.zeta, i), 1, 1, b, 1)
			if e := math.Sqrt(kernel.Dot(b, b) / norm); e > 2*s.Tolerance {
				t.Errorf("%s: sample %d has the relative residual %g", p.Name, i, e)
			}
		}
	}
}

// TestModes: at the mode of the linear model the loss is flat, for every observation model.
func TestModes(t *testing.T) {
	for _, p := range modelProblems(t) {
		if p.Dtype() != tensor.Float64 {
			continue
		}
		f := begun(t, p.Problem, Settings{Samples: 2, PriorStd: 0.8, Tolerance: 1e-6})
		mode, err := f.bestWeights(t.Context(), make([]float64, f.size))
		if err != nil {
			t.Fatal(err)
		}
		n := &newton{fitting: f, ctx: t.Context(), w: mode}
		if n.out, err = n.push(mode); err != nil {
			t.Fatal(err)
		}
		g, err := n.descent()
		if err != nil {
			t.Fatal(err)
		}
		d, err := n.direction(g)
		decrease := kernel.Dot(g, d)
		if size := kernel.Dot(mode, mode); err != nil || size == 0 || decrease > 1e-11*size {
			t.Errorf("%s: the loss falls by %g at weights of squared length %g, error %v", p.Name, decrease, size, err)
		}
	}
}

// curvatureOf is M = Σ_n J_nᵀ Λ_n J_n [P,P] from all Jacobians.
func curvatureOf(t *testing.T, p gp.Problem, f *fitting) []float64 {
	t.Helper()
	b := graph.NewBuilder(p.Dtype())
	x := b.Param(&graph.Param{Name: "x", Value: p.Train.X})
	nodes := append(jacobian.NTK{Net: p.Net, Dense: true}.Rows(b, x), p.Net.Forward(b, x))
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := graph.Floats(prog.Value(nodes[len(nodes)-1]))
	j, at := make([]float64, len(out)*f.size), 0
	for _, n := range nodes[:len(nodes)-1] {
		v, w := graph.Floats(prog.Value(n)), n.Shape()[1]
		for i := range out {
			copy(j[i*f.size+at:], v[i*w:(i+1)*w])
		}
		at += w
	}
	c := f.c
	lambda, weighted := make([]float64, c*c), make([]float64, len(j))
	for i := 0; i < len(out); i += c {
		likelihood.CurvatureOf(f.lik, lambda, f.rows(f.all.y, i/c, 1), out[i:i+c])
		kernel.Gemm(false, false, c, f.size, c, 1, lambda, c, j[i*f.size:], f.size, 0, weighted[i*f.size:], f.size)
	}
	m := make([]float64, f.size*f.size)
	kernel.Gemm(true, false, f.size, f.size, len(out), 1, j, f.size, weighted, f.size, 0, m, f.size)
	return m
}

// TestRate: the covariances tend to LLA's covariances at the rate 1/√S. Beside their standard
// errors, which fall at this rate, the differences stay of the same size.
func TestRate(t *testing.T) {
	for _, p := range problems(t)[:3] {
		o := &laplace.Settings{PriorStd: 0.8}
		if v := likelihood.NoiseVariance(p.Likelihood); v > 0 {
			o.NoiseStd = math.Sqrt(v)
		}
		p.Validation = nil
		lla, err := o.Posterior(t.Context(), p.Problem, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		g := small.Predict(t, lla, p.Probe)
		for _, samples := range []int{30, 3000} {
			q := fit(t, p.Problem, Settings{Samples: samples, PriorStd: 0.8, Tolerance: 1e-6}, 4).Posterior.(*posterior)
			claimed, sum := q.StandardErrors(g), 0.0
			for i, v := range small.Predict(t, q, p.Probe).Cov {
				sum += math.Pow((v-g.Cov[i])/claimed[i], 2) / float64(len(claimed))
			}
			if size := math.Sqrt(sum); size < 0.2 || size > 2 {
				t.Errorf("%s, %d samples: the covariances are %g standard errors from LLA's", p.Name, samples, size)
			}
		}
	}
}

// TestPriorLimit: the stronger the prior, the nearer the samples to samples of the prior, whose
// covariance is the tangent kernel.
func TestPriorLimit(t *testing.T) {
	for _, p := range problems(t)[:3] {
		f := begun(t, p.Problem, Settings{Samples: 4, PriorStd: 1e-5, Tolerance: 1e-10})
		f.solve(t)
		want := slices.Clone(f.z)
		kernel.Scale(want, 1e-5, want)
		fixture.Close(t, p.Name, f.zeta, want, 1e-4)
	}
}

// TestSolversAgree: stochastic gradients go where conjugate gradients go, for the same draws.
func TestSolversAgree(t *testing.T) {
	for _, p := range problems(t)[:3] {
		exact := Settings{Samples: 3, PriorStd: 0.3, Tolerance: 1e-10, Iterations: 300}
		sgd := Settings{Samples: 3, PriorStd: 0.3, Solver: solverSGD, Epochs: 3000, BatchSize: 24, LearningRate: 0.05}
		a := small.Predict(t, fit(t, p.Problem, exact, 3).Posterior, p.Probe).Cov
		b := small.Predict(t, fit(t, p.Problem, sgd, 3).Posterior, p.Probe).Cov
		fixture.Close(t, p.Name, b, a, 1e-3)
	}
}

// TestSketch: where M has an inverse, one iteration is enough with a sketch of full rank, and a sketch of few draws
// saves iterations.
func TestSketch(t *testing.T) {
	p := problems(t)[2].Problem
	count := func(f *fitting) int {
		for k := range 200 {
			if worst, err := f.conjugate(t.Context(), 2, k); err != nil {
				t.Fatal(err)
			} else if worst <= f.s.Tolerance {
				return k
			}
		}
		return 200
	}
	f := begun(t, problems(t)[0].Problem, Settings{Samples: 2, PriorStd: 1, Tolerance: 1e-6, Rank: 1000})
	if n := count(f); n > 1 || len(f.sketch.values) < 2 {
		t.Errorf("%d iterations with a sketch of full rank", n)
	}
	few := Settings{Samples: 2, PriorStd: 1, Tolerance: 1e-7, Rank: 9}
	plain, sketched := begun(t, p, few), begun(t, p, few)
	plain.sketch = nil
	if n, most := count(sketched), count(plain); n >= most {
		t.Errorf("%d iterations with a sketch, %d without", n, most)
	}
}

// TestErrors: the error of samples is bounded at each iteration, also where the prior variance is much larger than what the data leave.
func TestErrors(t *testing.T) {
	for _, p := range problems(t)[:3] {
		for _, std := range []float64{0.1, 1, 100} {
			s := Settings{Samples: 2, PriorStd: std, Tolerance: 1e-9, Iterations: 400}
			exact, f := begun(t, p.Problem, s), begun(t, p.Problem, s)
			exact.solve(t)
			m := curvatureOf(t, p.Problem, f)
			for i := range f.size {
				m[i*f.size+i] += f.numbers.Lambda
			}
			e, product := make([]float64, f.size), make([]float64, f.size)
			for k := range 30 {
				if _, err := f.conjugate(t.Context(), 2, k); err != nil {
					t.Fatal(err)
				}
				bounds := f.errors([]int{0, 1})
				for i := range 2 {
					copy(e, f.row(f.zeta, i))
					kernel.Axpy(-1, f.row(exact.zeta, i), e)
					kernel.Gemm(false, false, f.size, 1, f.size, 1, m, f.size, e, 1, 0, product, 1)
					if got := math.Sqrt(kernel.Dot(e, product) / max(1, f.determined(i))); got > 1.1*bounds[i]+1e-8 {
						t.Errorf("%s, prior std %g, iteration %d: an error of %g, the bound is %g", p.Name, std, k, got, bounds[i])
					}
				}
			}
		}
	}
}

// TestRows: the passes give the same for rows in batches of any size.
func TestRows(t *testing.T) {
	for _, p := range problems(t)[:3] {
		f := begun(t, p.Problem, Settings{Samples: 3, PriorStd: 1})
		want := make([]float64, len(f.z))
		if err := f.product(t.Context(), f.all, dense.Indices(3), f.z, want); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 5, 24, 50} {
			f.linear.size, f.linear.programs = size, [4][]*pass{}
			got := make([]float64, len(f.z))
			if err := f.product(t.Context(), f.all, dense.Indices(3), f.z, got); err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, fmt.Sprint(p.Name, ", ", size, " rows"), got, want, 1e-12)
		}
	}
}

// TestStandardErrors: over many seeds the covariances scatter as their standard errors say.
func TestStandardErrors(t *testing.T) {
	p, s := problems(t)[2], Settings{Samples: 20, PriorStd: 0.8, Tolerance: 1e-3}
	const fits = 120
	var sum, square, claimed []float64
	for seed := range uint64(fits) {
		q := fit(t, p.Problem, s, seed).Posterior.(*posterior)
		g := small.Predict(t, q, p.Probe)
		cov, se := g.Cov, q.StandardErrors(g)
		if sum == nil {
			sum, square, claimed = make([]float64, len(cov)), make([]float64, len(cov)), make([]float64, len(cov))
		}
		for i, v := range cov {
			sum[i] += v / fits
			square[i] += v * v / fits
			claimed[i] += se[i] * se[i] / fits
		}
	}
	for i := range sum {
		if ratio := math.Sqrt((square[i] - sum[i]*sum[i]) / claimed[i]); ratio < 0.7 || ratio > 1.3 {
			t.Errorf("covariance %d scatters %g times as much as its standard error says", i, ratio)
		}
	}
}

// TestFunctions: their mean over samples differs from the network by the mean of J ζ, and their
// second moment is the joint covariance.
func TestFunctions(t *testing.T) {
	p := problems(t)[1]
	q := fit(t, p.Problem, Settings{Samples: 7, PriorStd: 0.8}, 1).Posterior.(*posterior)
	values, err := q.Functions(t.Context(), p.Probe)
	if err != nil {
		t.Fatal(err)
	}
	mean, cov, err := q.Joint(t.Context(), p.Probe)
	if err != nil {
		t.Fatal(err)
	}
	n := mean.Size()
	got := make([]float64, n*n)
	for row := range slices.Chunk(values.Float64s(), n) {
		kernel.Sub(row, row, mean.Float64s())
		for i, v := range row {
			kernel.Axpy(v/7, row, got[i*n:(i+1)*n])
		}
	}
	fixture.Close(t, "second moment", got, cov.Float64s(), 1e-12)
	q.Limit = 8
	for what, err := range map[string]error{"functions": second(q.Functions(t.Context(), p.Probe)), "joint": third(q.Joint(t.Context(), p.Probe))} {
		if !errors.As(err, new(*graph.MemoryError)) {
			t.Errorf("%s with 8 bytes: error %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }

// TestMaximise: the prior standard deviation that the steps end with is a maximum of what they
// maximise: another step leaves it where it is.
func TestMaximise(t *testing.T) {
	p := problems(t)[1]
	short := fit(t, p.Problem, Settings{Samples: 30, EMSteps: 60, EMSamples: 30, Tolerance: 1e-9}, 2)
	long := fit(t, p.Problem, Settings{Samples: 30, EMSteps: 61, EMSamples: 30, Tolerance: 1e-9}, 2)
	fixture.Close(t, "prior standard deviation", long.Record.PriorStds, short.Record.PriorStds, 1e-4)
	if notes := long.Record.Notes; len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	one := fit(t, p.Problem, Settings{Samples: 30, EMSteps: 1, Iterations: 1, Rank: 1, Tolerance: 1e-9}, 2)
	if notes := strings.Join(one.Record.Notes, " "); !strings.Contains(notes, "still changed from") || !strings.Contains(notes, "ended after 1 iterations") {
		t.Errorf("notes %q", notes)
	}
}

// TestNothingToLearn: where the linear model explains none of the targets, the prior standard deviation ends at its limit with
// a note, and the posterior has next to no variance.
func TestNothingToLearn(t *testing.T) {
	for _, size := range []float64{0, 0.01} {
		for _, i := range []int{0, 6} { // float64 and float32
			p := problems(t)[i].Problem
			y := graph.Floats(p.Train.Y)
			kernel.Scale(y, size, y)
			p.Train.Y = graph.Convert(dense.Of(y, len(y), 1), p.Dtype())
			f := fit(t, p, Settings{Samples: 9}, 2)
			if notes := strings.Join(f.Record.Notes, " "); !strings.Contains(notes, "fell to its lower limit") {
				t.Errorf("targets times %g: notes %q", size, notes)
			}
			for _, v := range small.Predict(t, f.Posterior, p.Train.X).Cov {
				if !(v >= 0 && v < 1e-5*f.NoiseVariance) {
					t.Errorf("targets times %g: variance %g with the noise variance %g", size, v, f.NoiseVariance)
				}
			}
		}
	}
}

// TestInterrupted: a fit that ends anywhere and goes on has the same bits as one that does not.
func TestInterrupted(t *testing.T) {
	p := problems(t)[2]
	for name, s := range map[string]Settings{
		"cg":  {Samples: 5, EMSteps: 2, EMSamples: 3, Tolerance: 1e-8, Iterations: 9},
		"sgd": {Samples: 3, EMSteps: 2, EMSamples: 2, EMPriorStd: 0.4, Solver: solverSGD, Epochs: 3, BatchSize: 8, LearningRate: 0.01, Average: 0.2},
	} {
		want := small.Predict(t, fit(t, p.Problem, s, 9).Posterior, p.Probe).Cov
		steps := begun(t, p.Problem, s).steps()
		for stop := 1; stop < steps; stop += 1 + rand.IntN(4) {
			r := gp.Run{Seed: 9, Checkpoint: filepath.Join(t.TempDir(), "fit"), Resume: true}
			ctx, cancel := context.WithCancel(t.Context())
			r.OnProgress = func(q train.Progress) {
				if q.Done == stop {
					cancel()
				}
			}
			if f, err := s.Fit(ctx, p.Problem, r); !errors.Is(err, context.Canceled) || f != nil {
				t.Fatalf("%s, step %d: error %v", name, stop, err)
			}
			cancel()
			r.OnProgress = nil
			f := small.Fit(t, &s, p.Problem, r)
			fixture.Close(t, fmt.Sprint(name, ", step ", stop), small.Predict(t, f.Posterior, p.Probe).Cov, want, 0)
		}
	}
}

// TestPassesOfInterrupted: passes of a step that was interrupted do not count, because the step is made again.
func TestPassesOfInterrupted(t *testing.T) {
	p := problems(t)[2]
	f := begun(t, p.Problem, Settings{Samples: 5, EMSteps: 1, EMSamples: 3, Iterations: 2})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, iteration := range []int{0, 2} { // a step of the solver, a maximisation
		before := f.numbers.Passes
		if _, err := f.Evaluate(ended, iteration); !errors.Is(err, context.Canceled) || f.numbers.Passes != before {
			t.Errorf("iteration %d: %g passes, %g before, error %v", iteration, f.numbers.Passes, before, err)
		}
	}
}

// TestSettingsErrors: settings that contradict each other or the problem.
func TestSettingsErrors(t *testing.T) {
	all := problems(t)
	for say, c := range map[string]struct {
		p gp.Problem
		s Settings
	}{
		"noise-std 1 with classes":        {all[2].Problem, Settings{NoiseStd: 1}},
		"prior-std 1 together with":       {all[0].Problem, Settings{PriorStd: 1, EMSteps: 2}},
		"em-samples 9, expected at most":  {all[0].Problem, Settings{Samples: 8, EMSamples: 9}},
		"with the solver cg":              {all[0].Problem, Settings{Epochs: 3}},
		"iterations, rank or rows":        {all[0].Problem, Settings{Solver: solverSGD, Iterations: 3}},
		"batch-size 25, expected at most": {all[0].Problem, Settings{Solver: solverSGD, BatchSize: 25}},
		"tolerance":                       {all[0].Problem, Settings{Tolerance: 1}},
	} {
		if _, err := c.s.Fit(t.Context(), c.p, gp.Run{}); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), say) {
			t.Errorf("%+v: error %v, expected %q", c.s, err, say)
		}
	}
}

// TestDiverges: a learning rate that is too large is an error, not a posterior of huge variances.
func TestDiverges(t *testing.T) {
	s := Settings{Samples: 2, PriorStd: 10, NoiseStd: 0.05, Solver: solverSGD, LearningRate: 2, BatchSize: 8, Epochs: 40}
	if _, err := s.Fit(t.Context(), problems(t)[0].Problem, gp.Run{}); err == nil || !strings.Contains(err.Error(), "expected a learning-rate below 2, or the solver cg") {
		t.Errorf("error %v", err)
	}
}

// TestOverflow: a network whose derivatives overflow is an error, not a posterior of NaN.
func TestOverflow(t *testing.T) {
	p := problems(t)[0].Problem
	huge := graph.Floats(p.Train.X)
	kernel.Scale(huge, 1e300, huge)
	p.Net = squares{}
	p.Train.X, p.Validation = dense.Of(huge, p.Train.N(), 2), nil
	if f, err := (&Settings{Samples: 2, PriorStd: 1}).Fit(t.Context(), p, gp.Run{}); err == nil {
		t.Errorf("a posterior %v", f.Posterior)
	}
}

var factor = graph.NewParam("factor", []float64{1e10}, tensor.Float64, 1)

// squares is the network w (x₁ + x₂)².
type squares struct{}

func (squares) Params() []*graph.Param { return []*graph.Param{factor} }

func (squares) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Mul(b.Param(factor), b.Square(b.SumAxis(x, 1)))
}

// StandardErrors returns the standard errors [N,C,C] of the covariances of a prediction, those
// of means of S products of normal variables: √((Q_ii Q_jj + Q_ij²)/S).
func (p *posterior) StandardErrors(g gp.Gaussian) []float64 {
	c, out := g.Outputs(), make([]float64, len(g.Cov))
	for at := 0; at < len(out); at += c * c {
		q := g.Cov[at : at+c*c]
		for i := range c {
			for j := range c {
				out[at+i*c+j] = math.Sqrt((q[i*c+i]*q[j*c+j] + q[i*c+j]*q[i*c+j]) / float64(p.Rank()))
			}
		}
	}
	return out
}
