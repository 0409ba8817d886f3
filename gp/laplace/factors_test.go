package laplace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Every product of rows is the product of the rows multiplied out, in factors and without, with one
// scale and with a scale for each parameter, for more rows than square takes at a time. One network
// has convolutions and a layer whose weights are stored output first.
func TestDataRows(t *testing.T) {
	for _, outputs := range []int{1, 3} {
		n := 512/outputs + 5
		for name, prob := range map[string]problem{
			"numbers": newProblem(t, 61, tensor.Float64, n, 5, outputs),
			"singles": newProblem(t, 61, tensor.Float32, n, 5, outputs),
			"classes": newClasses(t, 62, tensor.Float64, n, 5, outputs+1),
			"images":  sureClasses(t, tensor.Float64, n, outputs+1),
		} {
			o := options{Space: spaceFunctions, PriorStd: 1, NoiseStd: 0.5, BatchSize: 7}
			if name != "numbers" && name != "singles" {
				o.Likelihood, o.NoiseStd = likelihood.Softmax{}, 0
			}
			p := prob.fit(t, o)
			f := p.structure.(*functionSpace)
			whole := wholeRows{f.scanner, f.n, multipliedOut(t, f)}
			for scale, c := range map[string]scales{"one scale": {}, "a scale each": {t: ramp(len(f.blocks))}} {
				what := label(name, ", ", outputs, " outputs, ", scale)
				checkRows(t, what, p, f.rows, whole, c)
				checkSingle(t, what, p, f.rows, c)
				checkRows(t, what+", without factors", p, whole, whole, c)
			}
		}
	}
}

// ramp is 0.5, 1, 1.5, ….
func ramp(n int) (v []float64) {
	for i := range n {
		v = append(v, float64(i+1)/2)
	}
	return v
}

// multipliedOut returns R [n,P], and checks columns that begin and end within a block.
func multipliedOut(t *testing.T, f *functionSpace) []float64 {
	j := make([]float64, f.n*f.params)
	f.eachTile(t.Context(), make([]float64, f.tileSize()), func(i, lo, cols int, tile []float64) {
		for r := range f.n {
			copy(j[r*f.params+lo:], tile[r*cols:(r+1)*cols])
		}
		for at := lo; at < lo+cols; at++ {
			one, want := make([]float64, f.n), make([]float64, f.n)
			f.rows.columns(i, at, 1, one)
			for r := range want {
				want[r] = tile[r*cols+at-lo]
			}
			if !slices.Equal(one, want) {
				t.Fatalf("column %d alone is not that of a tile", at)
			}
		}
	})
	return j
}

// squared multiplies the columns of m rows by T².
func squared(s *scanner, c scales, rows []float64, m int) []float64 {
	out := slices.Clone(rows)
	for i, k := range s.blocks {
		for r := range m {
			part := out[r*s.params+k.offset : r*s.params+k.offset+k.size()]
			kernel.Scale(part, c.of(i)*c.of(i), part)
		}
	}
	return out
}

// checkRows compares the products of rows with the products of the whole rows r.
func checkRows(t *testing.T, what string, p *posterior, rows dataRows, r wholeRows, c scales) {
	t.Helper()
	n, scaled := r.n, squared(p.scan, c, r.j, r.n)
	got, want := make([]float64, n*n), make([]float64, n*n)
	if err := rows.square(t.Context(), c, got, nil); err != nil {
		t.Fatal(err)
	}
	kernel.CopyLower(n, got, n)
	kernel.Gemm(false, true, n, n, r.params, 1, scaled, r.params, r.j, r.params, 0, want, n)
	fixture.Close(t, what+": square", got, want, 1e-11)

	shape := p.scan.x.Shape()[1:]
	x := dense.Of(p.structure.(*functionSpace).x, append([]int{p.examples}, shape...)...)
	err := p.scan.each(t.Context(), x, func(b batch) error {
		u, err := b.factors()
		if err != nil {
			return err
		}
		m, ld := b.size(), n+2
		j, got, want := make([]float64, m*r.params), make([]float64, m*ld), make([]float64, m*ld)
		if err := b.jacobian(j, r.params); err != nil {
			return err
		}
		if err := rows.cross(b, c, true, got, ld); err != nil {
			return err
		}
		kernel.Gemm(false, true, m, n, r.params, 1, j, r.params, scaled, r.params, 0, want, ld)
		fixture.Close(t, what+": cross", got, want, 1e-11)
		checkOwn(t, what, b, u, j, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkSingle compares products of float32 rows in float32 with products in float64.
func checkSingle(t *testing.T, what string, p *posterior, rows dataRows, c scales) {
	t.Helper()
	n := p.structure.(*functionSpace).n
	x := dense.Of(p.structure.(*functionSpace).x, append([]int{p.examples}, p.scan.x.Shape()[1:]...)...)
	err := p.scan.each(t.Context(), x, func(b batch) error {
		got, want := make([]float64, b.size()*n), make([]float64, b.size()*n)
		if err := rows.cross(b, c, false, got, n); err != nil {
			return err
		}
		if err := rows.cross(b, c, true, want, n); err != nil {
			return err
		}
		if slices.Equal(got, want) == rows.single() {
			t.Errorf("%s: products in float32 are those in float64, which holds for rows in float64 alone", what)
		}
		fixture.Close(t, what+": single", got, want, 1e-6)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestProduct: products of more rows and columns than are taken at a time are the sums of products of elements.
func TestProduct(t *testing.T) {
	const m, n, q = 3, productRows + 5, productColumns + 7
	const ld = n + 2
	r := rand.New(rand.NewPCG(5, 5))
	u, v := make([]float32, m*q), make([]float32, n*q)
	for _, x := range [][]float32{u, v} {
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
	}
	want := make([]float64, m*ld)
	for i := range m {
		for j := range n {
			sum := 0.0
			for k := range q {
				sum += float64(u[i*q+k]) * float64(v[j*q+k])
			}
			want[i*ld+j] = 1 + 0.5*sum
		}
	}
	f := factors[float32]{scanner: &scanner{float: tensor.Float32, blocks: []block{{p: 1, q: q}}}}
	for precise, tolerance := range map[bool]float64{true: 1e-12, false: 1e-5} {
		got := make([]float64, m*ld)
		for i := range m {
			for j := range n {
				got[i*ld+j] = 1
			}
		}
		p := f.newProduct(&working[float64]{}, &working[float32]{}, precise, m, n)
		p.add(m, n, q, 0.5, u, v, got, ld)
		fixture.Close(t, label("precise ", precise), got, want, tolerance)
	}
}

// checkOwn compares the products within each example of u with the products of b's Jacobian j.
func checkOwn(t *testing.T, what string, b batch, u exampleRows, j []float64, c scales) {
	t.Helper()
	k, each := b.outputs, b.outputs*b.params
	got, want, scaled := make([]float64, b.size()*k), make([]float64, b.size()*k), squared(b.scanner, c, j, b.size())
	u.own(c, got)
	for i := range b.count {
		kernel.Gemm(false, true, k, k, b.params, 1, scaled[i*each:], b.params, j[i*each:], b.params, 0, want[i*k*k:], k)
	}
	fixture.Close(t, what+": own", got, want, 1e-11)
}
