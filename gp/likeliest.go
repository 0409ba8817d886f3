package gp

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// LikeliestClasses is the setting of a method that derives, at each input, only the K classes with the largest outputs with respect to
// the weights. These classes have the covariances that they have otherwise. Each other class has the least variance among the K,
// and no covariance with another class. Other classes usually have smaller variances than that, so that by [Probit] those with
// negative outputs come out too likely. The derivatives of C outputs take most of the time of a prediction, which falls by nearly C/K.
type LikeliestClasses struct {
	Likeliest int `set:"likeliest" auto:"all" min:"1" help:"number of classes of a row, the likeliest, that have variances of their own; each other class has the least of these, and predictions take less time"`
}

// CheckLikeliest returns an error if k classes were asked for of targets that are no classes, under the observation model l. It
// wraps settings.ErrSetting.
func CheckLikeliest(k int, l likelihood.Likelihood) error {
	if k > 0 && !likelihood.IsClass(l) {
		return settings.Errorf("likeliest %d with the likelihood %v, expected classes", k, l)
	}
	return nil
}

// FewClasses returns how many of c classes have covariances of their own where k were asked for, and 0 for all.
func FewClasses(k, c int) int {
	if k >= c {
		return 0
	}
	return k
}

// Choose writes the places [B,K] of the k largest outputs of each example, of outputs mean [B,C], and the combinations of
// outputs [B,K,C] that choose them, see jacobian.NTK.Combined.
func Choose(b *graph.Builder, mean *graph.Node, k int) (places, seeds *graph.Node) {
	if places = b.Largest(mean, k); b.Err() != nil {
		return nil, nil
	}
	return places, b.Embed(b.Eye(mean.Shape()[1]), places)
}

// Widen sets the covariances, or the variances, of g, which has room for all outputs and no Epistemic, from those of the K outputs
// of each input in places [N,K], see [LikeliestClasses].
func (g *Gaussian) Widen(of Gaussian, places []float64) {
	k, c := of.Outputs(), g.Outputs()
	clear(g.Cov)
	for i := range of.N() {
		least := math.Inf(1)
		for a := range k {
			least = min(least, of.Variance(i, a))
		}
		v, step := g.variances(i)
		for j := range c {
			v[j*step] = least
		}
		g.place(i, of.Block(i), places[i*k:(i+1)*k])
	}
}

// place writes the covariances, or the variances, block of the outputs at at input i.
func (g *Gaussian) place(i int, block, at []float64) {
	to, c, k := g.Block(i), g.Outputs(), len(at)
	for a, p := range at {
		if g.Marginal > 0 {
			to[int(p)] = block[a]
			continue
		}
		for b, q := range at {
			to[int(p)*c+int(q)] = block[a*k+b]
		}
	}
}

// Widen writes what [Gaussian.Widen] computes: covariances [B,C,C] of all outputs, of covariances cov [B,K,K] and the
// combinations seeds [B,K,C] that choose K outputs, in Out.
func (w *Writing) Widen(cov, seeds *graph.Node) *graph.Node {
	b := w.Out
	if b.Err() != nil {
		return nil
	}
	d, n, k := b.Diag(cov), seeds.Shape()[0], seeds.Shape()[1]
	least := b.Slice(d, 1, 0, 1)
	for a := 1; a < k; a++ {
		least = b.Min(least, b.Slice(d, 1, a, a+1))
	}
	others := b.Affine(b.Reshape(b.SumAxis(seeds, 1), n, -1), -1, 1)
	return b.Add(b.MatMul(seeds, b.MatMul(cov, seeds, false, false), true, false), b.Diagonal(b.Mul(others, least)))
}

// WidenJoint makes of the covariance cov [N·C,N·C] of all outputs at N inputs what [Gaussian.Widen] makes of the covariances at
// one: outputs that are not in places [N,K] have the least variance among those of their input, and no covariance.
func WidenJoint(cov, places []float64, k int) {
	n := len(places) / k
	size := int(math.Sqrt(float64(len(cov))))
	least, chosen := make([]float64, n), make([]bool, size)
	for i := range least {
		least[i] = math.Inf(1)
		for _, p := range places[i*k : (i+1)*k] {
			at := i*(size/n) + int(p)
			least[i], chosen[at] = min(least[i], cov[at*size+at]), true
		}
	}
	for i := range size {
		for j := range size {
			if !chosen[i] || !chosen[j] {
				cov[i*size+j] = 0
			}
		}
		if !chosen[i] {
			cov[i*size+i] = least[i*n/size]
		}
	}
}
