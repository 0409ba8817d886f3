package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// sketch is a random network being drawn: pieces that follow each other.
type sketch struct {
	*maker
	t      *rapid.T
	pieces []formula
	width  int // of the last piece's outputs
}

// drawNetwork draws a network of one to four pieces and a dense layer.
func drawNetwork(t *rapid.T, outputs int) network {
	seed := rapid.Uint64().Draw(t, "seed")
	s := &sketch{t: t, width: inputs, maker: &maker{
		rng: rand.New(rand.NewPCG(seed, 1)), dt: tensor.Float64, outputs: outputs}}
	kinds := map[string]func() formula{
		"affine": s.affine, "activation": s.activation, "gain": s.gain, "residual": s.residual, "tied": s.tied,
		"again": s.again, "transformed": s.transformed, "softmax": s.softmax, "split": s.split, "foreign": s.foreign,
		"mixing": s.mixing,
	}
	names := []string{"affine", "activation", "gain", "residual", "tied", "again", "transformed", "softmax", "split", "foreign", "mixing"}
	for range rapid.IntRange(1, 4).Draw(t, "pieces") {
		s.pieces = append(s.pieces, kinds[rapid.SampledFrom(names).Draw(t, "piece")]())
	}
	s.pieces = append(s.pieces, s.maker.dense("out", s.width, outputs))
	return network{forward: chain(s.pieces...), params: s.params}
}

// fresh is a new parameter of a name of its own.
func (s *sketch) fresh(shape ...int) *graph.Param {
	return s.param(fmt.Sprint("p", len(s.params)), shape...)
}

func (s *sketch) affine() formula {
	in := s.width
	s.width = rapid.IntRange(1, 5).Draw(s.t, "width")
	return layers.Dense{W: s.fresh(in, s.width), B: s.fresh(s.width)}.Forward
}

func (s *sketch) activation() formula {
	return rapid.SampledFrom(layers.Activations()).Draw(s.t, "activation").Forward
}

func (s *sketch) gain() formula {
	shape := rapid.SampledFrom([][]int{{s.width}, {1, s.width}, {1}, {1, 1}}).Draw(s.t, "shape")
	p := s.fresh(shape...)
	op := rapid.SampledFrom([]func(b *builder, x, y *node) *node{(*builder).Mul, (*builder).Add, (*builder).Sub}).Draw(s.t, "operation")
	return func(b *builder, h *node) *node { return op(b, b.Param(p), h) }
}

func (s *sketch) residual() formula {
	inner := layers.Dense{W: s.fresh(s.width, s.width), B: s.fresh(s.width)}
	return layers.Residual{Inner: network{forward: chain(inner.Forward, (*builder).Tanh)}}.Forward
}

func (s *sketch) tied() formula {
	w := s.fresh(s.width, rapid.IntRange(1, 4).Draw(s.t, "code"))
	return func(b *builder, h *node) *node {
		code := b.Sin(b.MatMul(h, b.Param(w), false, false))
		return b.Tanh(b.MatMul(code, b.Param(w), false, true))
	}
}

// again uses an earlier parameter in another way, where there is one that fits.
func (s *sketch) again() formula {
	for _, p := range s.params {
		p := p
		switch shape := p.Value.Shape(); {
		case len(shape) == 1 && shape[0] == s.width:
			return func(b *builder, h *node) *node { return b.Tanh(b.Mul(h, b.Param(p))) }
		case len(shape) == 2 && shape[1] == s.width:
			s.width = shape[0]
			return func(b *builder, h *node) *node { return b.Tanh(b.MatMul(h, b.Param(p), false, true)) }
		}
	}
	return s.affine()
}

func (s *sketch) transformed() formula {
	v := s.fresh(s.width, s.width)
	return func(b *builder, h *node) *node { return b.MatMul(h, b.Tanh(b.Param(v)), false, false) }
}

func (s *sketch) softmax() formula { return (*builder).LogSoftmax }

// split works on the halves of an example, where its width is even.
func (s *sketch) split() formula {
	if s.width%2 == 1 {
		return (*builder).Erf
	}
	p := s.fresh(2, 1)
	return func(b *builder, h *node) *node {
		n, w := h.Shape()[0], h.Shape()[1]
		halves := b.Mul(b.Reshape(h, n, 2, w/2), b.Param(p))
		return b.Reshape(b.Transpose(halves), n, w)
	}
}

func (s *sketch) foreign() formula {
	return foreign(rapid.SampledFrom([]func(*node) (*node, error){gorgonia.Tanh, gorgonia.Sigmoid, gorgonia.Cube}).Draw(s.t, "foreign"))
}

func (s *sketch) mixing() formula {
	return func(b *builder, h *node) *node {
		return b.Tanh(b.Add(h, b.Scale(b.SumAxis(h, 0), 0.5/float64(h.Shape()[0]))))
	}
}

// TestRandomNetworks: whatever the network, both algorithms give the same kernels,
// the ones made of the rows, and the same derivatives.
func TestRandomNetworks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outputs, batch := rapid.IntRange(1, 3).Draw(t, "outputs"), rapid.IntRange(1, 3).Draw(t, "batch")
		p := newProblem(func(*maker) formula { return nil }, tensor.Float64, batch, 2, outputs)
		p.net = drawNetwork(t, outputs)
		rows := p.naive(p.rows(t, p.x, dense), p.rows(t, p.z, dense))
		structured, dense := p.everything(t, factored).run(t), p.everything(t, dense).run(t)
		for i := range structured {
			// Cubes of cubes make derivatives large and cancel; near scales by the largest.
			near(t, parts[i]+", structured against dense", structured[i], dense[i], 1e-9)
		}
		for i := range rows {
			near(t, parts[i]+" against rows", structured[i], rows[i], 1e-10)
		}
	})
}
