package likelihood

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// points is the number of points of a quadrature over the latent value f = m + √q·u, u ~ N(0,1).
const points = 48

// densePoints is the number of points of a plain grid for functions that bend within a tenth of the spread of f.
const densePoints = 400

// finePoints is the number of points for models that are [Rough].
const finePoints = 3 * points

// Rough is implemented by a Scalar whose log p(y | f) is not concave in f, or bends within a fraction of the spread
// of N(m, q), where Rough returns true. Quadratures then have more points.
type Rough interface{ Rough() bool }

func isRough(s Scalar) bool {
	r, ok := s.(Rough)
	return ok && r.Rough()
}

// wide is a standard deviation of f from which on p(y | f) may be a step, which takes finePoints.
const wide = 4

// pointsOf returns the number of points for a model.
func pointsOf(s Scalar) int {
	if isRough(s) {
		return finePoints
	}
	return points
}

// reach is the largest |u| of a quadrature, beyond which N(0,1) has less than 10⁻¹⁶ of its mass.
const reach = 8.5

// grid has points u and the logarithms of weights w with E[g(u)] ≈ Σ w g(u) for u ~ N(0,1).
type grid struct{ u, logW []float64 }

func newGrid(n int) grid { return grid{make([]float64, n), make([]float64, n)} }

// plainGrid is the trapezoid rule at equal distances, for functions that change slowly beside N(0,1). The second result
// has the weights.
func plainGrid(n int) (g grid, w []float64) {
	g, w = newGrid(n), make([]float64, n)
	h := 2 * reach / float64(n-1)
	for i := range g.u {
		g.u[i] = -reach + h*float64(i)
		g.logW[i] = math.Log(h) - 0.5*g.u[i]*g.u[i] - 0.5*math.Log(2*math.Pi)
		w[i] = math.Exp(g.logW[i])
	}
	return g, w
}

// plain is the plain grid of most models, with its weights, and dense the one for a wide f.
var (
	plain, weights      = plainGrid(points)
	dense, denseWeights = plainGrid(densePoints)
)

// around fills the grid for functions that change fast, at a scale, around a centre: the trapezoid rule in t
// with u = centre + scale·sinh t, which is dense at the centre and goes as far as end to both sides.
func (g grid) around(centre, scale, end float64) {
	end = math.Asinh(end / scale)
	h := 2 * end / float64(len(g.u)-1)
	e, factor, logH := math.Exp(-end), math.Exp(h), math.Log(0.5*h*scale)-0.5*math.Log(2*math.Pi)
	for i := range g.u {
		u := centre + 0.5*scale*(e-1/e)
		g.u[i], g.logW[i] = u, logH+math.Log(e+1/e)-0.5*u*u
		e *= factor
	}
}

// shape is the factor of the scale of the mode in [grid.around] at which the integrals of all models have the least
// error.
const shape = 3

// focus fills the grid for E[p(y | m + sd·u)^α]: around the mode of the integrand, at its scale. Unless all of N(0,1)
// counts, the grid ends at 80 scales from the mode if the integrand has fallen by e⁻⁴⁰ there.
func (g grid) focus(given Conditional, y []float64, m, sd, alpha float64, all bool) {
	centre, scale := mode(given, y, m, sd, alpha)
	end, near := reach+math.Abs(centre), 80*scale
	if !all && near < end {
		log := func(u float64) float64 { return alpha*given.LogDensity(y, m+sd*u) - 0.5*u*u }
		if max(log(centre-near), log(centre+near)) < log(centre)-40 {
			end = near
		}
	}
	g.around(centre, shape*scale, end)
}

// mode returns the mode of p(y | m + sd·u)^α N(u; 0, 1) and the scale 1/√(1 + α sd² Λ) there. The slope of
// the logarithm, α sd ∂log p/∂f − u, falls at least as fast as −u where p is log-concave, so that the
// mode lies between 0 and the slope at 0. Newton's steps and bisections take turns.
func mode(given Conditional, y []float64, m, sd, alpha float64) (centre, scale float64) {
	slope := func(u float64) float64 { return alpha*sd*given.Slope(y, m+sd*u) - u }
	rate := func(u float64) float64 { return 1 + alpha*sd*sd*given.Curvature(m+sd*u) }
	at := slope(0)
	lo, hi := min(at, 0), max(at, 0)
	if !(hi-lo < 1e15) {
		lo, hi = max(lo, -1e15), min(hi, 1e15)
	}
	u := 0.0
	for i := range 100 {
		r := rate(u)
		if scale = 1 / math.Sqrt(r); math.Abs(at) < 0.1*math.Sqrt(r) || hi-lo < 0.1*scale {
			break
		}
		next := u + at/r
		if !(next > lo && next < hi) || i%2 == 1 {
			next = lo + (hi-lo)/2
		}
		u, at = next, slope(next)
		if at > 0 {
			lo = u
		} else {
			hi = u
		}
	}
	return u, max(scale, 1e-9)
}

// focused is the operation that computes the grid of each element, from the parts of the targets, mean, sd and the
// parameters.
// Its result has two numbers for each point of each element: the u, then the logW. A change of the grid does not change
// the integral, so that the result counts as a constant.
type focused struct {
	s     Scalar
	alpha float64
}

// Key implements graph.Op. It names the parameters by their addresses.
func (o focused) Key() string { return fmt.Sprintf("grid of %s %#v, α %x", o.s, o.s, o.alpha) }

// Shape implements graph.Op.
func (o focused) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return append(in[o.s.Width()].Clone(), 2*pointsOf(o.s)), nil
}

// Pullback implements graph.Op.
func (focused) Pullback(*graph.Builder, int, []*graph.Node, *graph.Node, *graph.Node) *graph.Node {
	return nil
}

// RowWise implements graph.Op.
func (focused) RowWise([]bool, []tensor.Shape) bool { return true }

// Forward implements graph.Op.
func (o focused) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: focusLoop[float32](o), F64: focusLoop[float64](o)}
}

func focusLoop[T float32 | float64](o focused) func(out []T, x [][]T) error {
	n, rough := pointsOf(o.s), isRough(o.s)
	g, target := newGrid(n), make([]float64, o.s.Width())
	return func(out []T, x [][]T) error {
		given, w := o.s.Given(), len(target)
		for i := range len(out) / (2 * n) {
			for k := range target {
				target[k] = float64(x[k][i])
			}
			g.focus(given, target, float64(x[w][i]), float64(x[w+1][i]), o.alpha, rough)
			to := out[2*n*i:]
			for k := range n {
				to[k], to[n+k] = T(g.u[k]), T(g.logW[k])
			}
		}
		return nil
	}
}

// leastVariance is added to q: the slope by q of a quadrature in √q has an error of about the machine's
// precision divided by √q, and is finite where q is 0.
func leastVariance(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-6
	}
	return 1e-12
}

// quadratureTerm is the data term of each element by quadrature, see [Objective].
func quadratureTerm(b *graph.Builder, s Scalar, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, column := pointsOf(s), append(mean.Shape().Clone(), 1)
	shape := append(mean.Shape().Clone(), n)
	wide := func(n *graph.Node) *graph.Node { return b.BroadcastTo(b.Reshape(n, column...), shape...) }
	parts := make([]*graph.Node, len(y))
	for i, n := range y {
		parts[i] = wide(n)
	}
	sd := b.Sqrt(b.Affine(q, 1, leastVariance(b.Dtype())))
	at := func(u *graph.Node) *graph.Node {
		return s.Node(b, parts, b.Add(wide(mean), b.Mul(wide(sd), u)))
	}
	if alpha == 0 {
		g, w := plainGrid(n)
		row := func(name string, v []float64) *graph.Node {
			return b.BroadcastTo(b.Const(fmt.Sprintf("likelihood.%s.%d", name, n), v, n), shape...)
		}
		return b.Reshape(b.SumAxis(b.Mul(at(row("u", g.u)), row("weights", w)), -1), mean.Shape()...)
	}
	// The parameters are there so that the grid is computed again when one changes.
	from := slices.Concat(y, []*graph.Node{mean, sd}, b.Params(s.Params()))
	grids := b.Apply(focused{s, alpha}, from...)
	if b.Err() != nil {
		return nil
	}
	last := mean.Dims()
	u, logW := b.Slice(grids, last, 0, n), b.Slice(grids, last, n, 2*n)
	return b.Scale(b.Reshape(b.LogSumExp(b.Add(b.Scale(at(u), alpha), logW)), mean.Shape()...), 1/alpha)
}

// logPredictive is log ∫ p(y | f) N(f; m, q) df of one output.
func logPredictive(s Scalar, y []float64, m, q float64) float64 {
	if p, ok := s.(LogPredictive); ok {
		return p.LogPredictive(y, m, q)
	}
	return logExpect(s.Given(), y, m, math.Sqrt(max(q, 0)))
}

// logExpect is log E[p(y | m + sd·u)] for u ~ N(0,1).
func logExpect(given Conditional, y []float64, m, sd float64) float64 {
	if sd == 0 {
		return given.LogDensity(y, m)
	}
	var space [2 * finePoints]float64
	n := points
	if sd > wide {
		n = finePoints
	}
	g := grid{space[:n], space[n : 2*n]}
	g.focus(given, y, m, sd, 1, false)
	for i, u := range g.u {
		g.logW[i] += given.LogDensity(y, m+sd*u)
	}
	return LogSumExp(g.logW)
}
