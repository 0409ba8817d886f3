package gapa

import (
	"context"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// sample holds examples and what their variances are made of: the variances of output c are
// factor·r Σ_j c_j² J_cj².
type sample struct {
	y, mean []float64 // [n,W·C] and [n,C]
	r       []float64 // [n]
	squares []float32 // J², [n,C,d]
	c, d    int       // C and d
}

// sampleBytes is the memory of n examples.
func sampleBytes(n, c, d int) int64 { return int64(n) * int64(c) * int64(4*d+4*8) }

// newSample computes examples, those of e with some numbers or, without numbers, all. Example i is no neighbour of skip(i). done is called with how many
// examples each batch had.
func newSample(ctx context.Context, p *pass, m *memory, e gp.Examples, rows []int, skip func(int) int, done func(n int)) (*sample, error) {
	n, y := e.N(), e.Y
	if rows != nil {
		n, y = len(rows), data.TakeRows(y, rows)
	}
	s := &sample{y: graph.Floats(y), c: p.c, d: m.d, r: make([]float64, 0, n), mean: make([]float64, 0, n*p.c), squares: make([]float32, 0, n*p.c*m.d)}
	err := p.each(ctx, e.X, rows, func(first, n int, out []*tensor.Dense) error {
		r, err := m.remaining(out[0], n, func(i int) int { return skip(first + i) })
		if err != nil {
			return err
		}
		at := len(s.squares)
		s.r, s.mean = append(s.r, r...), dense.AppendRows(s.mean, out[1], n)
		s.squares = append32(s.squares, out[2], n)
		kernel.Square(s.squares[at:], s.squares[at:])
		done(n)
		return nil
	})
	return s, err
}

// n is the number of examples.
func (s *sample) n() int { return len(s.r) }

// part returns examples from … to−1.
func (s *sample) part(from, to int) *sample {
	q, w := *s, len(s.y)/s.n()
	q.y, q.mean, q.r = s.y[from*w:to*w], s.mean[from*s.c:to*s.c], s.r[from:to]
	q.squares = s.squares[from*s.c*s.d : to*s.c*s.d]
	return &q
}

// variances returns r Σ_j c_j² J_cj² [n,C] for variances c² [d].
func (s *sample) variances(scales []float64) []float64 {
	narrow, product := make([]float32, s.d), make([]float32, len(s.mean))
	for j, v := range scales {
		narrow[j] = float32(v)
	}
	kernel.Gemm(false, false, len(product), 1, s.d, 1, s.squares, s.d, narrow, 1, 0, product, 1)
	out := make([]float64, len(product))
	for i, v := range product {
		out[i] = s.r[i/s.c] * float64(v)
	}
	return out
}

// mixture is what multiplies the variances of a sample, and the noise.
type mixture struct{ factor, noise float64 }

// loss returns the mean loss, and its derivatives by the variances of the outputs [n,C].
func (s *sample) loss(l loss, own []float64, by mixture) (mean float64, grad []float64, err error) {
	v, grad := make([]float64, len(own)), make([]float64, len(own))
	kernel.Scale(v, by.factor, own)
	if l.law != nil {
		mean, err = l.law.loss(s, v, grad, by.noise)
		return mean, grad, err
	}
	for at := 0; at < len(v); at += s.c {
		to := at + s.c
		mean += l.at(s.y[at:to], s.mean[at:to], v[at:to], by.noise, grad[at:to])
	}
	scale := 1 / float64(s.n())
	kernel.Scale(grad, scale, grad)
	return mean * scale, grad, nil
}

// value returns the mean loss.
func (s *sample) value(l loss, own []float64, by mixture) (float64, error) {
	if l.law == nil {
		mean, _, err := s.loss(l, own, by)
		return mean, err
	}
	return gp.MeanNLLOfEach(l.law.with(by.noise), s.y, s.mean, s.c, func(n int, v []float64) {
		kernel.Scale(v, by.factor, own[n*s.c:(n+1)*s.c])
	}), nil
}

// gradient returns the derivatives by c² [d], given those by the variances of the outputs.
func (s *sample) gradient(by []float64, factor float64) []float64 {
	weights, out := make([]float32, len(by)), make([]float32, s.d)
	for i, g := range by {
		weights[i] = float32(g * factor * s.r[i/s.c])
	}
	kernel.Gemm(true, false, s.d, 1, len(by), 1, s.squares, s.d, weights, 1, 0, out, 1)
	wide := make([]float64, s.d)
	for j, g := range out {
		wide[j] = float64(g)
	}
	return wide
}

// best returns the mixture with the smallest loss, and this loss. It is an error if no loss is
// finite.
func (s *sample) best(l loss, own []float64, all []mixture) (mixture, float64, error) {
	return gp.Best(all, "factors", func(by mixture) (mixture, float64, error) {
		v, err := s.value(l, own, by)
		return by, v, err
	})
}
