package sfr

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer. All is computed in float64, as by Compile.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(context.Background()); err != nil {
		return gp.Written{}, err
	}
	x := w.Carry(w.X)
	if err := w.Err(); err != nil {
		return gp.Written{}, err
	}
	var means, covs []*graph.Node
	for part, s := range p.systems {
		mean, cov := p.writePart(w, x, part, s)
		means, covs = append(means, mean), append(covs, cov)
	}
	if err := w.Err(); err != nil {
		return gp.Written{}, fmt.Errorf("sfr: %w", err)
	}
	g := gp.Written{Mean: means[0], Cov: covs[0]}
	if len(means) > 1 { // each part is one output
		b := w.Out
		g.Mean = b.Concat(1, means...)
		g.Cov = b.Diagonal(b.Reshape(b.Concat(1, covs...), x.Shape()[0], len(covs)))
	}
	return g, w.Err()
}

// writePart writes the mean [B,O] and the covariances [B,O,O] of a part.
func (p *posterior) writePart(w *gp.Writing, x *graph.Node, part int, s *system) (mean, cov *graph.Node) {
	b, k, n := w.Out, p.kernels, x.Shape()[0]
	if !k.joint {
		hot := b.OneHot(slices.Repeat([]int{part}, n), k.outputs)
		x = b.Concat(1, b.Reshape(x, n, k.input.TotalSize()), hot)
	}
	of := jacobian.NTK{Net: k.network()}
	z := b.Param(&graph.Param{Name: fmt.Sprint("points of part ", part), Value: k.inputs(k.points, part, k.joint)})
	diag, cross := of.Diag(b, x), of.Cross(b, x, z, dense.Cycle(k.size(), k.width()))
	root, a := slices.Clone(s.root), slices.Clone(s.a)
	kernel.Trsm(false, true, s.m, s.m, s.r, s.m, root, s.m)
	kernel.Trsm(false, true, s.m, 1, s.r, s.m, a, 1)
	cov = b.Scale(b.Sub(diag, b.Gram(b.MatMul(cross, w.Root(root, s.m), false, false))), p.prior*p.prior)
	if !p.own {
		return of.Net.Forward(b, x), cov
	}
	return b.Reshape(w.Rows(cross, a), n, k.width()), cov
}
