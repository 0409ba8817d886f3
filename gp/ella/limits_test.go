package ella

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// tasks are one output, several outputs and classes.
var tasks = map[string]struct {
	outputs int
	classes bool
}{"one output": {1, false}, "two outputs": {2, false}, "three classes": {3, true}}

// eachTask runs a test for each of tasks: 12 rows, and a network whose weights are more
// than the rows of their Jacobians.
func eachTask(t *testing.T, test func(t *testing.T, p gp.Problem, s Settings)) {
	for name, c := range tasks {
		t.Run(name, func(t *testing.T) {
			p := small.Problem(t, 3, tensor.Float64, 12, 14, c.outputs, c.classes)
			s := Settings{PriorStd: 0.8}
			if !c.classes {
				s.NoiseStd = 0.3
			}
			test(t, p, s)
		})
	}
}

// curvatures is the matrix of all Λ_n on its diagonal [N·C,N·C].
func curvatures(t *testing.T, p gp.Problem, s Settings) *mat.Dense {
	c, n := p.Outputs(), p.Train.N()
	lik := p.Likelihood
	if s.NoiseStd > 0 {
		lik = likelihood.NewGaussian(s.NoiseStd*s.NoiseStd, tensor.Float64)
	}
	out := mat.NewDense(n*c, n*c, nil)
	mean, one := outputsAt(t, p, p.Train.X), make([]float64, c*c)
	for i := range n {
		lik.Curvature(one, mean[i*c:(i+1)*c])
		for a := range c {
			for b := range c {
				out.Set(i*c+a, i*c+b, one[a*c+b])
			}
		}
	}
	return out
}

func outputsAt(t *testing.T, p gp.Problem, x *tensor.Dense) []float64 {
	t.Helper()
	return small.Predict(t, gp.Point{Net: p.Net, Dtype: p.Dtype()}, x).Mean
}

// prior is σ₀² A Bᵀ for the rows of two Jacobians.
func prior(s Settings, a, b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(a, b.T())
	out.Scale(s.PriorStd*s.PriorStd, &out)
	return &out
}

// solved is K_xz A⁻¹ K_zx.
func solved(t *testing.T, kxz, a *mat.Dense) *mat.Dense {
	t.Helper()
	var half, out mat.Dense
	if err := half.Solve(a, kxz.T()); err != nil {
		t.Fatal(err)
	}
	out.Mul(kxz, &half)
	return &out
}

// jacobians are J_X of the training rows, J at probes, and J_Z of the points, as matrices.
func jacobians(t *testing.T, p gp.Problem, x *tensor.Dense, at points) (train, probe, z *mat.Dense) {
	matrix := func(x *tensor.Dense) *mat.Dense {
		v := jacobianOf(t, p.Net, x)
		return mat.NewDense(len(v)/layers.Count(p.Net), layers.Count(p.Net), v)
	}
	all := matrix(at.z)
	z = mat.NewDense(at.n(), layers.Count(p.Net), nil)
	for i, c := range at.output {
		z.SetRow(i, all.RawRowView(i*at.outputs+c))
	}
	return matrix(p.Train.X), matrix(x), z
}

// joint compares the joint covariance at x with a dense reference.
func joint(t *testing.T, what string, q *posterior, x *tensor.Dense, want *mat.Dense, tol float64) {
	t.Helper()
	_, cov, err := q.Joint(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, what, cov.Float64s(), want.RawMatrix().Data, tol)
}

// TestAllDirections: with K = M the covariance is K_xz (K_z + Σ K_zn Λ K_nz)⁻¹ K_zx, among
// all outputs at all inputs. What is missing from κ − K_xz K_z⁻¹ K_zx plus this is nothing:
// that sum is the posterior of VaLLA with the best A (its Proposition 2).
func TestAllDirections(t *testing.T) {
	eachTask(t, func(t *testing.T, p gp.Problem, s Settings) {
		rng := rand.New(rand.NewPCG(8, 1))
		at := pointsAt(p, rng.Perm(12)[:6], nil)
		for range 6 {
			at.output = append(at.output, rng.IntN(at.outputs))
		}
		s.Rank = 6
		x := small.Normal(rng, tensor.Float64, 4, 2)
		train, probe, z := jacobians(t, p, x, at)
		kz, kxz, knz := prior(s, z, z), prior(s, probe, z), prior(s, train, z)
		var sum mat.Dense
		sum.Product(knz.T(), curvatures(t, p, s), knz)
		sum.Add(&sum, kz)
		q := fitPoints(t, p, s, at)
		joint(t, "covariance", q, x, solved(t, kxz, &sum), 1e-7)
	})
}

// TestIsLLAAtTrainingInputs: with all pairs of a row and an output and all their
// directions ELLA is LLA at the training inputs; elsewhere LLA has in addition σ₀² times the
// part of J Jᵀ that the directions do not reach.
func TestIsLLAAtTrainingInputs(t *testing.T) {
	eachTask(t, func(t *testing.T, p gp.Problem, s Settings) {
		at := allPairs(p)
		s.Rank = at.n()
		x := small.Normal(rand.New(rand.NewPCG(8, 2)), tensor.Float64, 4, 2)
		train, probe, _ := jacobians(t, p, x, at)
		q := fitPoints(t, p, s, at)
		joint(t, "at the training inputs", q, p.Train.X, lla(t, p, s, train, train), 1e-7)

		phi := mat.NewDense(4*p.Outputs(), q.Rank(), featuresOf(t, q.Features, x))
		var want mat.Dense
		want.Sub(lla(t, p, s, train, probe), prior(s, probe, probe))
		want.Add(&want, prior(s, phi, phi))
		joint(t, "elsewhere", q, x, &want, 1e-6)
		if far := lla(t, p, s, train, probe); fixture.RelErr(want.RawMatrix().Data, far.RawMatrix().Data) < 1e-4 {
			t.Error("LLA is no wider away from the training inputs: the test shows nothing")
		}
	})
}

// lla is J (Σ J_nᵀ Λ_n J_n + I/σ₀²)⁻¹ Jᵀ.
func lla(t *testing.T, p gp.Problem, s Settings, train, at *mat.Dense) *mat.Dense {
	var h mat.Dense
	h.Product(train.T(), curvatures(t, p, s), train)
	for i := range layers.Count(p.Net) {
		h.Set(i, i, h.At(i, i)+1/(s.PriorStd*s.PriorStd))
	}
	return solved(t, at, &h)
}

// TestWithoutData: noise that drowns the data leaves the prior of the directions, σ₀² φ φᵀ.
func TestWithoutData(t *testing.T) {
	p := small.Problem(t, 4, tensor.Float64, 20, 6, 2, false)
	s := Settings{PriorStd: 1.7, NoiseStd: 1e9, Rank: 4}
	q := fitPoints(t, p, s, allPairs(p))
	phi := mat.NewDense(2*9, 4, featuresOf(t, q.Features, p.Validation.X))
	joint(t, "covariance", q, p.Validation.X, prior(s, phi, phi), 1e-12)
}

// TestOrderOfPoints: the covariance does not depend on the order of the points, nor on the
// signs of the eigenvectors.
func TestOrderOfPoints(t *testing.T) {
	p := small.Problem(t, 5, tensor.Float64, 30, 8, 3, true)
	s, rows, output := Settings{PriorStd: 0.6, Rank: 5}, rand.New(rand.NewPCG(1, 3)).Perm(30)[:20], make([]int, 20)
	for i := range output {
		output[i] = i % 3
	}
	_, want := small.Moments(t, fitPoints(t, p, s, pointsAt(p, rows, output)), p.Validation.X)
	slices.Reverse(rows)
	slices.Reverse(output)
	q := fitPoints(t, p, s, pointsAt(p, rows, output))
	_, got := small.Moments(t, q, p.Validation.X)
	fixture.Close(t, "points in another order", got, want, 1e-9)

	v := slices.Clone(q.V.Float64s())
	kernel.Neg(v[:layers.Count(p.Net)], v[:layers.Count(p.Net)])
	turned := &posterior{Posterior: inDirections(p.Net, q.Input, dense.Of(v, 5, layers.Count(p.Net)), q.Limit), g: slices.Clone(q.g), prior: q.prior, share: q.share}
	for i := 1; i < 5; i++ {
		turned.g[i] *= -1
		turned.g[5*i] *= -1
	}
	if err := turned.finish(); err != nil {
		t.Fatal(err)
	}
	_, got = small.Moments(t, turned, p.Validation.X)
	fixture.Close(t, "a direction turned round", got, want, 1e-9)
}

// TestDirections are orthonormal and span rows of the points' Jacobian; features are the
// Jacobian times them, in both element types.
func TestDirections(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-10, tensor.Float32: 1e-3} {
		p := small.Problem(t, 6, dt, 25, 8, 2, false)
		at := allPairs(p)
		f := begun(t, p, Settings{PriorStd: 1, NoiseStd: 0.3, Rank: 6}, at)
		n, v := layers.Count(p.Net), graph.Floats(f.v)
		eye := make([]float64, 36)
		for i := range 6 {
			eye[7*i] = 1
		}
		fixture.Close(t, fmt.Sprint("v vᵀ in ", dt), product(6, 6, n, v, v), eye, tol)
		j := jacobianOf(t, p.Net, p.Validation.X)
		fixture.Close(t, fmt.Sprint("φ in ", dt), featuresOf(t, f.features, p.Validation.X), product(18, 6, n, j, v), tol)
		jz := jacobianOf(t, p.Net, p.Train.X)
		part := product(50, 6, n, jz, v) // J_Z v has the squares λ of columns
		for k, want := range f.spectrum.values {
			got := 0.0
			for i := range 50 {
				got += part[i*6+k] * part[i*6+k]
			}
			fixture.Close(t, fmt.Sprint("λ in ", dt), []float64{got}, []float64{want}, tol)
		}
	}
}

// TestMiniBatches: the curvature is the same in whatever parts the rows come. The
// limit of the curvature with all rows seen is the curvature of one pass.
func TestMiniBatches(t *testing.T) {
	p := small.Problem(t, 7, tensor.Float64, 250, 6, 3, true)
	at := pointsAt(p, []int{1, 5, 9, 13, 200}, []int{0, 1, 2, 1, 0})
	s := Settings{PriorStd: 1, Rank: 5}
	whole := begun(t, p, s, at)
	if err := whole.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.EarlyStopping, s.CheckEvery = true, 33
	inParts := begun(t, p, s, at)
	if err := inParts.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inParts.seen != 250 {
		t.Errorf("%d rows seen", inParts.seen)
	}
	fixture.Close(t, "G", inParts.sums.g, whole.sums.g, 1e-12)

	// G by its definition.
	phi, lambda := mat.NewDense(750, 5, featuresOf(t, whole.features, p.Train.X)), curvatures(t, p, s)
	var want mat.Dense
	want.Product(phi.T(), lambda, phi)
	fixture.Close(t, "G by its definition", whole.sums.g, want.RawMatrix().Data, 1e-12)
}

// TestPrecision: the decomposition gives the inverse of G/σ² + share·I/σ₀² and its root;
// eigenvalues of G that rounding made negative count as 0.
func TestPrecision(t *testing.T) {
	g := []float64{2, 0.5, 0.5, 1}
	p, err := newPrecision(2, g)
	if err != nil {
		t.Fatal(err)
	}
	const prior, share = 0.7, 0.4
	a := mat.NewDense(2, 2, []float64{2 + share/(prior*prior), 0.5, 0.5, 1 + share/(prior*prior)})
	var want mat.Dense
	if err := want.Inverse(a); err != nil {
		t.Fatal(err)
	}
	r := p.root(prior, share)
	fixture.Close(t, "R Rᵀ", product(2, 2, 2, r, r), want.RawMatrix().Data, 1e-14)
	effective := 2 - share/(prior*prior)*(want.At(0, 0)+want.At(1, 1))
	fixture.Close(t, "effective parameters", []float64{p.effective(prior, share)}, []float64{effective}, 1e-14)

	p, err = newPrecision(1, []float64{-1e-9})
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "variance without data", p.variances(1e5, 1, 1), []float64{1e10}, 1e-15)
}

// TestOverflow: a row whose features overflow is an error, not a posterior of NaN.
func TestOverflow(t *testing.T) {
	p := small.Problem(t, 7, tensor.Float64, 300, 6, 2, false)
	p.Net = layers.NewDense("line", 2, 2, tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	p.Train.X.Float64s()[2*150] = 1e200
	f := begun(t, p, Settings{PriorStd: 1, NoiseStd: 0.3, Rank: 3}, pointsAt(p, []int{1, 2, 3, 4}, []int{0, 1, 0, 1}))
	if err := f.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "after 100 training rows: the curvature is not finite") || f.best != nil {
		t.Errorf("error %v", err)
	}
}
