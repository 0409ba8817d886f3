package valla_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// chooser compares choices of inducing rows with the best matrix A for each, in closed form, so that nothing but the rows
// differs. Its unknowns are the values of a functional of the network's outputs at each row: an output, or for two classes
// the difference of the two logits. The bound is that of Titsias (2009) with the weights λ, one over the variance of the
// noise, or p(1−p) for two classes.
type chooser struct {
	own    *mat.Dense // Jacobian of the candidates, an output each, [R,P]
	cross  *mat.Dense // κ between unknowns of the training rows and candidates [U,R]
	diag   []float64  // κ of the unknowns [U]
	weight []float64  // λ of the unknowns [U]
	gram   *mat.Dense // κ among the candidates [R,R]
	test   *mat.Dense // κ between unknowns of the test rows and candidates [V,R]
	prior  []float64  // κ of these unknowns [V]
	score  func(v int, variance float64) float64
	seen   int // training rows
	each   int // unknowns of a row
}

// state is what a choice gives.
type state struct {
	loss float64   // of a training row, without the part that does not depend on the choice
	nll  []float64 // of the test rows
}

// kz returns the factor R of K_z = RRᵀ of rows, and K_zx for unknowns x, [M,U]; nil where K_z is singular.
func (c *chooser) kz(rows []int, cross *mat.Dense) (r *mat.Cholesky, kx *mat.Dense) {
	m, n := len(rows), cross.RawMatrix().Rows
	kz := mat.NewSymDense(m, nil)
	kx = mat.NewDense(m, n, nil)
	for i, a := range rows {
		for j, b := range rows[:i+1] {
			kz.SetSym(i, j, c.gram.At(a, b))
		}
		kz.SetSym(i, i, kz.At(i, i)*(1+1e-8))
		kx.SetRow(i, mat.Col(nil, a, cross))
	}
	r = new(mat.Cholesky)
	if !r.Factorize(kz) {
		return nil, nil
	}
	return r, kx
}

// whitened returns R⁻¹ K_zx [M,U], nil where K_z is singular.
func (c *chooser) whitened(rows []int, cross *mat.Dense) *mat.Dense {
	r, kx := c.kz(rows, cross)
	if r == nil {
		return nil
	}
	var lower mat.TriDense
	r.LTo(&lower)
	var v mat.Dense
	if err := v.Solve(&lower, kx); err != nil {
		return nil
	}
	return &v
}

// inner returns I + Σ λ v vᵀ and the bound of all training rows: ½ log det of it + ½ Σ λ (κ − |v|²).
func (c *chooser) inner(v *mat.Dense) (*mat.Cholesky, float64) {
	m, n := v.Dims()
	scaled := mat.DenseCopyOf(v)
	left := 0.0
	for i := range n {
		s, w := 0.0, math.Sqrt(c.weight[i])
		for k := range m {
			s += v.At(k, i) * v.At(k, i)
			scaled.Set(k, i, v.At(k, i)*w)
		}
		left += c.weight[i] * (c.diag[i] - s)
	}
	b := mat.NewSymDense(m, nil)
	b.SymOuterK(1, scaled)
	for k := range m {
		b.SetSym(k, k, b.At(k, k)+1)
	}
	var f mat.Cholesky
	if !f.Factorize(b) {
		return nil, math.Inf(1)
	}
	return &f, (f.LogDet() + left) / 2
}

// loss is the bound of a training row.
func (c *chooser) loss(rows []int) float64 {
	v := c.whitened(rows, c.cross)
	if v == nil {
		return math.Inf(1)
	}
	_, bound := c.inner(v)
	return bound / float64(c.seen)
}

// judge returns the bound and the scores of the test rows.
func (c *chooser) judge(rows []int) state {
	v, w := c.whitened(rows, c.cross), c.whitened(rows, c.test)
	f, bound := c.inner(v)
	var solved mat.Dense
	if err := f.SolveTo(&solved, w); err != nil {
		panic(err)
	}
	m, n := w.Dims()
	out := state{loss: bound / float64(c.seen)}
	for i := range n {
		variance := c.prior[i]
		for k := range m {
			variance += w.At(k, i) * (solved.At(k, i) - w.At(k, i))
		}
		if i%c.each == 0 {
			out.nll = append(out.nll, 0)
		}
		out.nll[i/c.each] += c.score(i, max(0, variance)) / float64(c.each)
	}
	return out
}

// greedy chooses m rows: each time that of the largest remaining variance or, with a matrix cross of kernels between
// unknowns and candidates, that which takes away most of the variance of the unknowns, times their weights.
func (c *chooser) greedy(m int, cross *mat.Dense, weight []float64) (rows []int) {
	left, total := mat.DenseCopyOf(c.gram), cross != nil
	if !total {
		cross = mat.NewDense(1, len(c.gram.RawRowView(0)), nil)
	}
	cross = mat.DenseCopyOf(cross)
	n, _ := left.Dims()
	u, _ := cross.Dims()
	for len(rows) < m {
		best, most := 0, math.Inf(-1)
		for i := range n {
			gain := left.At(i, i)
			if gain < 1e-9*c.gram.At(i, i) {
				continue
			}
			if total {
				s := 0.0
				for k := range u {
					s += weight[k] * cross.At(k, i) * cross.At(k, i)
				}
				gain = s / gain
			}
			if gain > most {
				best, most = i, gain
			}
		}
		column, own, pivot := mat.Col(nil, best, left), mat.Col(nil, best, cross), left.At(best, best)
		left.RankOne(left, -1/pivot, mat.NewVecDense(n, column), mat.NewVecDense(n, column))
		cross.RankOne(cross, -1/pivot, mat.NewVecDense(u, own), mat.NewVecDense(n, column))
		rows = append(rows, best)
	}
	return rows
}

// spread chooses m rows by k-means++ in the features of the kernel, and moves each to the middle of its rows five times.
func (c *chooser) spread(m int, rng *rand.Rand) (rows []int) {
	n, _ := c.gram.Dims()
	near := slices.Repeat([]float64{math.Inf(1)}, n)
	for next := rng.IntN(n); len(rows) < m; {
		rows = append(rows, next)
		for i := range near {
			near[i] = min(near[i], c.distance(i, next))
		}
		at := rng.Float64() * floats.Sum(near)
		for next = 0; next < n-1 && at >= near[next]; next++ {
			at -= near[next]
		}
	}
	for range 5 {
		c.middle(rows)
	}
	return rows
}

// middle moves each of rows to the row with the least sum of distances to those that are nearest to it.
func (c *chooser) middle(rows []int) {
	groups := make([][]int, len(rows))
	for i := range c.gram.RawMatrix().Rows {
		best := 0
		for k := range rows {
			if c.distance(i, rows[k]) < c.distance(i, rows[best]) {
				best = k
			}
		}
		groups[best] = append(groups[best], i)
	}
	for k, group := range groups {
		sum := func(a int) (s float64) {
			for _, b := range group {
				s += c.distance(a, b)
			}
			return s
		}
		if len(group) > 0 {
			rows[k] = slices.MinFunc(group, func(a, b int) int { return cmp.Compare(sum(a), sum(b)) })
		}
	}
}

// distance is the squared distance of two candidates in the features of the kernel.
func (c *chooser) distance(a, b int) float64 {
	return max(0, c.gram.At(a, a)+c.gram.At(b, b)-2*c.gram.At(a, b))
}

// exchange replaces the point without which the variance of the unknowns grows least by the candidate of the largest
// remaining variance, of a pool of 200 that is drawn anew each time, and keeps this where the bound improves.
func (c *chooser) exchange(rows []int, rounds int, rng *rand.Rand) (out []int, kept int) {
	n, _ := c.gram.Dims()
	out = slices.Clone(rows)
	loss := c.loss(out)
	for range rounds {
		gains := c.gains(out)
		least := floats.MinIdx(gains)
		trial := slices.Delete(slices.Clone(out), least, least+1)
		v := c.whitened(trial, c.gram)
		best, most := -1, 0.0
		for range 200 {
			i := rng.IntN(n)
			left := c.gram.At(i, i) - math.Pow(mat.Norm(v.ColView(i), 2), 2)
			if left > most && !slices.Contains(out, i) {
				best, most = i, left
			}
		}
		if best < 0 {
			break
		}
		if now := c.loss(append(trial, best)); now < loss {
			out, loss, kept = append(trial, best), now, kept+1
		}
	}
	return out, kept
}

// gains returns for each point how much the weighted variance of the unknowns grows without it: λ b²/P, where b are the
// elements of K_z⁻¹ k_z and P the diagonal of K_z⁻¹.
func (c *chooser) gains(rows []int) []float64 {
	m := len(rows)
	r, kx := c.kz(rows, c.cross)
	var b mat.Dense
	var inverse mat.SymDense
	if r == nil || r.SolveTo(&b, kx) != nil || r.InverseTo(&inverse) != nil {
		return make([]float64, m)
	}
	out := make([]float64, m)
	for j := range m {
		for i, w := range c.weight {
			out[j] += w * b.At(j, i) * b.At(j, i) / inverse.At(j, j)
		}
	}
	return out
}
