package laplace

import "github.com/go-valla/valla/graph"

// A convolution's filters [Out,In,H,W] have Jacobian rows that are sums of outer products
// over the places p of its output, Σ_p δ_p ⊗ patch_p. KFAC keeps the moments of both
// factors (Grosse and Martens 2016, "A Kronecker-factored approximate Fisher matrix for
// convolution layers", with their assumption that places are uncorrelated):
//
//	A = (1/N) Σ_n Σ_p patch patchᵀ,   G = (1/T) Σ_n Σ_p δᵀ Λ δ.
//
// The same holds for dense weights that all steps of a sequence share, with the layer's inputs for patches.
// Such a block has a [B,T,K], d [B·C,T,Out] and T places; the other structures take its
// rows as they are. Predictions with KFAC multiply the factors out, see way.

// convolved reports whether uses are the rows of a convolution's filters, or of dense weights that steps share, and
// fills in k where they are.
func (k *block) convolved(b *graph.Builder, uses []graph.Outer) bool {
	if len(uses) != 1 || uses[0].Left != nil {
		return false
	}
	if use, ok := graph.StepRows(uses[0].Right); ok {
		k.a, k.d, k.swapped = use.Inputs, use.Results, use.Swapped
		return true
	}
	filters := k.param.Value.Shape()
	if len(filters) != 4 || filters[2] != filters[3] {
		return false
	}
	use, ok := graph.FilterRows(uses[0].Right)
	if !ok {
		return false
	}
	s := use.Results.Shape()
	places := s[2] * s[3]
	k.a = b.Transpose(b.Unfold(use.Images, filters[2], use.Stride, use.Padding), 0, 2, 1)
	k.d = b.Transpose(b.Reshape(use.Results, s[0], s[1], places), 0, 2, 1)
	k.swapped = true
	if sizeKept(use, filters[2]) {
		k.images = use.Images
	}
	return b.Err() == nil
}
