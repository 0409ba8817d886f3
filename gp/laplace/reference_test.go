package laplace

import (
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// reference is the definition, with dense Jacobians and explicit inverses.
type reference struct {
	mean, cov []float64 // at the probe: [N·C], [N·C, N·C]
	lml       float64
}

// denseJacobian returns outputs [N·C] and Jacobian [N·C, P] at x.
func (p problem) denseJacobian(t testing.TB, x *tensor.Dense) ([]float64, *mat.Dense) {
	vals := run(t, p.net, x, func(b *graph.Builder, in *graph.Node) []*graph.Node {
		k := jacobian.NTK{Net: p.net, Algorithm: jacobian.Dense}
		return append(k.Rows(b, in), p.net.Forward(b, in))
	})
	out := vals[len(vals)-1]
	rows := len(out)
	var j *mat.Dense
	for _, v := range vals[:len(vals)-1] {
		block := mat.NewDense(rows, len(v)/rows, v)
		if j == nil {
			j = block
			continue
		}
		var wider mat.Dense
		wider.Augment(j, block)
		j = &wider
	}
	return out, j
}

func (p problem) reference(t testing.TB, priorStd, noiseStd float64) reference {
	t.Helper()
	g, j := p.denseJacobian(t, p.x)
	mean, jp := p.denseJacobian(t, p.probe)
	n, params := j.Dims()
	var precision, sigma, half, cov mat.Dense
	precision.Mul(j.T(), j)
	precision.Scale(1/(noiseStd*noiseStd), &precision)
	for i := range params {
		precision.Set(i, i, precision.At(i, i)+1/(priorStd*priorStd))
	}
	if err := sigma.Inverse(&precision); err != nil {
		t.Fatal(err)
	}
	half.Mul(jp, &sigma)
	cov.Mul(&half, jp.T())
	logDet, _ := mat.LogDet(&precision)
	lml := -float64(n)*math.Log(noiseStd*math.Sqrt(2*math.Pi)) - 0.5*(logDet+2*float64(params)*math.Log(priorStd))
	for i, y := range p.y.Float64s() {
		lml -= (y - g[i]) * (y - g[i]) / (2 * noiseStd * noiseStd)
	}
	for _, w := range p.net.Params() {
		for _, v := range w.Floats() {
			lml -= v * v / (2 * priorStd * priorStd)
		}
	}
	return reference{mean: mean, cov: cov.RawMatrix().Data, lml: lml}
}

// blocks returns the [C,C] blocks on the diagonal of the [N·C, N·C] matrix cov.
func blocks(cov []float64, n, c int) []float64 {
	var out []float64
	for i := range n {
		for k := range c {
			row := i*c + k
			out = append(out, cov[row*n*c+i*c:row*n*c+i*c+c]...)
		}
	}
	return out
}

// Both spaces agree with the definition, for one and two outputs, more weights than
// targets and fewer, and in both element types.
func TestDefinition(t *testing.T) {
	tolerance := map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-5} // of a float32 Jacobian
	for _, n := range []int{5, 60} {
		for _, c := range []int{1, 2} {
			for dt, tol := range tolerance {
				p := newProblem(t, uint64(10*n+c), dt, n, 6, c)
				want := p.reference(t, 0.8, 0.3)
				for name, space := range spaces {
					what := label(name, ", ", n, " examples, ", c, " outputs, ", dt, ": ")
					q := p.fit(t, Options{PriorStd: 0.8, NoiseStd: 0.3, Space: space, BatchSize: 4})
					checkReference(t, what, q, p.probe, want, tol)
				}
			}
		}
	}
}

func checkReference(t *testing.T, what string, q *Posterior, probe *tensor.Dense, want reference, tol float64) {
	t.Helper()
	n, c := probe.Shape()[0], q.scan.outputs
	mean, cov := predict(t, q, probe)
	fixture.Close(t, what+"mean", mean, want.mean, tol)
	fixture.Close(t, what+"covariance", cov, blocks(want.cov, n, c), tol)
	fixture.Close(t, what+"lml", []float64{q.LogMarginalLikelihood()}, []float64{want.lml}, tol)
	jm, jc, err := q.Joint(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	if !jm.Shape().Eq(tensor.Shape{n * c}) || !jc.Shape().Eq(tensor.Shape{n * c, n * c}) {
		t.Fatalf("%sjoint mean %v, covariance %v", what, jm.Shape(), jc.Shape())
	}
	fixture.Close(t, what+"joint mean", jm.Float64s(), mean, 0)
	fixture.Close(t, what+"joint covariance", jc.Float64s(), want.cov, tol)
	fixture.Close(t, what+"diagonal of the joint covariance", blocks(jc.Float64s(), n, c), cov, 1e-14)
}

// The smaller space is the one chosen, at equality the weights'.
func TestSmallerSpace(t *testing.T) {
	for _, c := range []struct {
		params, rows int
		weights      bool
	}{{3, 4, true}, {4, 4, true}, {5, 4, false}} {
		_, weights := newFull(Smaller, c.params, c.rows, 1, 1).(*weightSpace)
		if weights != c.weights {
			t.Errorf("%d weights, %d rows: weight space is %v", c.params, c.rows, weights)
		}
	}
}
