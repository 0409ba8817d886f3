package ella

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// spectrum are the leading eigenpairs of K̂.
type spectrum struct {
	values []float64 // λ [K], descending
	u      []float64 // U [M,K]
	trace  float64   // of K̂, the sum of all eigenvalues
}

// leading returns the rank largest eigenpairs of k [m,m], an array of numbers that were
// computed in dt. Eigenvalues that are 0 up to rounding, for which there is no direction,
// are left out. An error says that there is no other.
func leading(k []float64, m, rank int, dt tensor.Dtype) (spectrum, error) {
	var s spectrum
	for i := range m {
		s.trace += k[i*m+i]
	}
	if !(s.trace > 0) || math.IsInf(s.trace, 0) {
		return s, fmt.Errorf("ella: the Jacobians of %d points have the squared length %g in all, expected a positive number", m, s.trace)
	}
	rank = min(rank, m)
	values, vectors, err := eigen.Largest(m, rank, k)
	if err != nil {
		return s, fmt.Errorf("ella: eigenvalues of the kernel of %d points: %w", m, err)
	}
	least := values[rank-1] * float64(m) * dense.Epsilon(dt)
	for j := rank - 1; j >= 0 && values[j] > least; j-- {
		s.values = append(s.values, values[j])
	}
	n := len(s.values)
	s.u = make([]float64, m*n)
	for i := range m {
		for j := range n {
			s.u[i*n+j] = vectors[(i+1)*rank-1-j]
		}
	}
	return s, nil
}

// reverse computes Σ_b ct_bᵀ J(z_b) for a block of inputs z and cotangents ct [B,C].
type reverse struct {
	size  int            // B
	b     *graph.Builder // of the graph
	z, ct *graph.Node    // the inputs [B,…] and their cotangents [B,C]
	grads []*graph.Node  // of each parameter

	at, cotangent *tensor.Dense  // what the program reads for z and ct
	draft         *graph.Draft   // of the program
	program       *graph.Program // computes grads
}

func planReverse(net layers.Network, p points, size int) (*reverse, int64, error) {
	r := &reverse{size: size, b: graph.NewBuilder(p.z.Dtype())}
	shape := p.z.Shape().Clone()
	shape[0] = size
	r.z, r.ct = r.b.Input("z", shape...), r.b.Input("cotangent", size, p.outputs)
	out := net.Forward(r.b, r.z)
	r.grads = graph.VJP(r.b, []*graph.Node{out}, []*graph.Node{r.ct}, r.b.Params(net.Params()))
	var err error
	if r.draft, err = graph.NewDraft(r.b, r.grads, graph.Options{Varying: []*graph.Node{r.ct}}); err != nil {
		return nil, 0, err
	}
	return r, r.draft.Bytes() + int64(size)*int64(shape.TotalSize()/size+p.outputs)*int64(p.z.Dtype().Size()), nil
}

func (r *reverse) compile() error {
	var err error
	if r.program, err = r.draft.Compile(); err != nil {
		return err
	}
	r.at = tensor.New(tensor.Of(r.b.Dtype()), tensor.WithShape(r.z.Shape()...))
	r.cotangent = tensor.New(tensor.Of(r.b.Dtype()), tensor.WithShape(r.ct.Shape()...))
	if err := r.program.Bind(r.z, r.at); err != nil {
		return err
	}
	return r.program.Bind(r.ct, r.cotangent)
}

// directions returns v = J_Zᵀ U λ^−½, a row for each direction, [K,P]. tell hears of each
// block of points in each direction.
func directions(ctx context.Context, net layers.Network, p points, s spectrum, limit int64, tell func(done, total int)) (*tensor.Dense, error) {
	k := len(s.values)
	v := tensor.New(tensor.Of(p.z.Dtype()), tensor.WithShape(k, layers.Count(net)))
	r, err := halved("the directions", p.n(), limit-dense.Bytes(v), func(size int) (*reverse, int64, error) { return planReverse(net, p, size) })
	if err == nil {
		err = r.compile()
	}
	if err != nil {
		return nil, fmt.Errorf("ella: %w", err)
	}
	done, starts := 0, startsOf(p.n(), r.size) // points
	for a, first := range starts {
		dense.Put(r.at, 0, p.z, first, r.size)
		r.program.Refresh()
		for i := range k {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := r.add(v, i, func(b int) (output int, weight float64) {
				if first+b < done { // of the block before
					return 0, 0
				}
				return p.output[first+b], s.u[(first+b)*k+i] / math.Sqrt(s.values[i])
			}); err != nil {
				return nil, err
			}
			tell(a*k+i+1, k*len(starts))
		}
		done = first + r.size
	}
	return v, nil
}

// add adds to row i of v [K,P] the weighted gradients of one output of each input.
func (r *reverse) add(v *tensor.Dense, i int, of func(b int) (output int, weight float64)) error {
	c := r.ct.Shape()[1]
	r.cotangent.Zero()
	for b := range r.size {
		output, w := of(b)
		if r.b.Dtype() == tensor.Float64 {
			r.cotangent.Float64s()[b*c+output] = w
		} else {
			r.cotangent.Float32s()[b*c+output] = float32(w)
		}
	}
	if err := r.program.Run(); err != nil {
		return fmt.Errorf("ella: the directions: %w", err)
	}
	at := i * v.Shape()[1]
	for _, g := range r.grads {
		value := r.program.Value(g)
		n := value.Shape().TotalSize()
		if v.Dtype() == tensor.Float64 {
			kernel.Axpy(1, value.Float64s(), v.Float64s()[at:at+n])
		} else {
			kernel.Axpy(1, value.Float32s(), v.Float32s()[at:at+n])
		}
		at += n
	}
	return nil
}
