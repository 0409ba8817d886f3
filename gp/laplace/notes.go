package laplace

import (
	"fmt"
	"strings"

	"github.com/go-valla/valla/gp"
)

// notes says where the posterior is not what the complete settings ask for, and where its
// standard deviations sit on an edge.
func (s *Settings) notes(p gp.Problem, q *posterior) []string {
	var notes []string
	if rank := q.Header().Rank; rank < s.Rank {
		notes = append(notes, fmt.Sprintf("The rank is %d instead of %d because no more eigenvalues are above 0, up to rounding.", rank, s.Rank))
	}
	if k, ok := q.structure.(interface{ wide() []string }); ok && len(k.wide()) > 0 {
		notes = append(notes, fmt.Sprintf("The structure kfac keeps the diagonal alone of %d parameters of more than %d elements each, whose Jacobian is no outer product: %s.",
			len(k.wide()), widestRows, strings.Join(k.wide(), ", ")))
	}
	if n := q.evidence.observations; s.Hyper == hyperMarglik && s.NoiseStd == 0 && q.evidence.noisy() && s.approximate() && q.EffectiveParameters() > saturated*n {
		notes = append(notes, fmt.Sprintf("With the structure %s the marginal likelihood takes the %g targets to determine %.4g weights, more than they can, and makes up for it by noise: "+
			"try hyper=grid, the setting noise-std, or structure=full.", s.Structure, n, q.EffectiveParameters()))
	}
	if s.Hyper == hyperGrid {
		points := gridOf(p, s.NoiseStd)
		first, last := points[0], points[len(points)-1]
		notes = append(notes, gp.EndOfGrid("prior", q.PriorStd(), first.Prior, last.Prior, "hyper=fixed with the setting prior-std, or hyper=marglik")...)
		notes = append(notes, gp.EndOfGrid("noise", q.NoiseStd(), first.Noise, last.Noise, "hyper=fixed with the setting noise-std, or hyper=marglik")...)
	}
	return notes
}

// saturated is the share of the targets from which on so many determined weights are not
// believed: an approximate H, whose rank the number of targets does not bound, spreads over
// many directions what the data say in few. The logarithm of its determinant then counts too
// many, and the marginal likelihood falls with the noise until γ is below N·C.
const saturated = 0.9

// approximate says whether the structure does not keep the rank of H.
func (s *Settings) approximate() bool {
	return s.structure() == kindKFAC || s.structure() == kindDiagonal
}
