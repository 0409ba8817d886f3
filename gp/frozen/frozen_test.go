package frozen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// blocks is a network of convolutions with a shortcut around two of them.
func blocks(t testing.TB, dt tensor.Dtype) layers.Sequential {
	t.Helper()
	net, err := layers.ResNet{Channels: 1, Height: 5, Width: 5, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3}.New(dt, rand.New(rand.NewPCG(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// images are n random examples with three classes.
func images(n int, dt tensor.Dtype) gp.Examples {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	x, y := make([]float64, n*25), make([]float64, n*3)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range n {
		y[3*i+i%3] = 1
	}
	return gp.Examples{X: graph.NewParam("", x, dt, n, 1, 5, 5).Value, Y: graph.NewParam("", y, dt, n, 3).Value}
}

// before cuts a network before weights.
func before(t testing.TB, net layers.Network, dt tensor.Dtype, weights ...string) *Cut {
	t.Helper()
	chosen, err := layers.Choose(net, weights...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Before(net, []int{1, 5, 5}, dt, chosen)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kernels are the outputs and the tangent kernel at inputs.
func kernels(t *testing.T, net layers.Network, x *tensor.Dense) (outputs, kernel []float64) {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	in := b.Input("x", x.Shape()...)
	f, err := graph.NewBatchWithin(0, b, in, net.Forward(b, in), jacobian.NTK{Net: net}.Diag(b, in))
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Run(graph.Floats(x))
	if err != nil {
		t.Fatal(err)
	}
	return graph.Floats(out[0]), graph.Floats(out[1])
}

// TestCut: outputs of the rest for features, and its Jacobians, are those of the whole network, bit for bit.
func TestCut(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for weights, parts := range map[string]int{"last-layer": 6, "layer2.*": 5, "layer1.0.conv2.weight": 3} {
			net, x := blocks(t, dt), images(6, dt).X
			c := before(t, net, dt, weights)
			if c.Place().Parts < parts-2 || len(c.Front)+len(c.Rest) != len(net) || c.Width() != tensor.Shape(c.Shape).TotalSize() {
				t.Errorf("%s: %d parts before the cut, of %d", weights, c.Place().Parts, len(net))
			}
			y, err := c.Features(t.Context(), x, gp.Run{})
			if err != nil {
				t.Fatal(err)
			}
			f, k := kernels(t, c.Rest, y)
			wantF, wantK := kernels(t, layers.Part{Network: net, Chosen: c.Rest.Params()}, x)
			if !slices.Equal(f, wantF) || !slices.Equal(k, wantK) {
				t.Errorf("%v, %s: outputs %v and kernel %v, expected %v and %v", dt, weights, f[:3], k[:3], wantF[:3], wantK[:3])
			}
			again, err := After(net, c.Place(), []int{1, 5, 5}, dt)
			if err != nil || again.Fingerprint(nil) != c.Fingerprint(nil) || c.Fingerprint([]byte("x")) == c.Fingerprint(nil) {
				t.Errorf("%v, %s: another cut at the same place, %v", dt, weights, err)
			}
		}
	}
}

// TestNoCut: where nothing with weights comes before there is no cut.
func TestNoCut(t *testing.T) {
	net := blocks(t, tensor.Float64)
	if c := before(t, net, tensor.Float64, "all"); c != nil {
		t.Errorf("a cut after %d parts", c.Place().Parts)
	}
	for _, parts := range []int{0, len(net), -1} {
		if _, err := After(net, Place{Parts: parts}, []int{1, 5, 5}, tensor.Float64); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a cut after %d parts of a network of %d", parts, len(net))) {
			t.Errorf("a cut after %d parts: %v", parts, err)
		}
	}
}

// fitted is a posterior of the last layer behind a cut.
func fitted(t *testing.T, c *Cut, dt tensor.Dtype) gp.Stored {
	t.Helper()
	p, err := c.Problem(t.Context(), gp.Problem{Net: append(slices.Clone(c.Front), c.Rest...), Likelihood: likelihood.Softmax{}, Train: images(30, dt)}, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	f := small.Fit(t, &laplace.Settings{Structure: "kfac", Hyper: "fixed", PriorStd: 0.8}, p, gp.Run{})
	return c.Fitted(f.Posterior, "LLA KFAC")
}

// TestPosterior: a posterior behind a cut keeps the promises of posteriors, with and without a memory.
func TestPosterior(t *testing.T) {
	for _, remembers := range []bool{false, true} {
		t.Run(fmt.Sprint("memory ", remembers), func(t *testing.T) {
			net := blocks(t, tensor.Float64)
			c := before(t, net, tensor.Float64, "last-layer")
			if remembers {
				c.Memory = InMemory(c)
			}
			gptest.Check(t, gptest.Case{Posterior: fitted(t, c, tensor.Float64), X: images(7, tensor.Float64).X, Net: net})
			if remembers && c.Memory.Rows() < 37 {
				t.Errorf("features of %d rows, expected 37 at least", c.Memory.Rows())
			}
		})
	}
}

// TestZeros: a row of zeros has its own features, although an engine tries zeros without them, and is remembered like other rows.
func TestZeros(t *testing.T) {
	c := before(t, blocks(t, tensor.Float64), tensor.Float64, "last-layer")
	p := fitted(t, c, tensor.Float64)
	zeros := dense.Of(make([]float64, 25), 1, 1, 5, 5)
	var got [2][]float64
	for i, m := range []*Memory{nil, InMemory(c)} {
		c.Memory = m
		g := small.Predict(t, p, zeros)
		got[i] = append(slices.Clone(g.Mean), g.Cov...)
	}
	if !slices.Equal(got[0], got[1]) || c.Memory.Rows() != 1 {
		t.Errorf("%v with a memory, which then has %d rows; expected %v", got[1], c.Memory.Rows(), got[0])
	}
}

// opened opens the file of features of the test.
func opened(t *testing.T, path string, c *Cut) *Memory {
	t.Helper()
	m, err := Open(path, c, []byte("form"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestInterrupted: features that were computed before an interruption are in the file.
func TestInterrupted(t *testing.T) {
	path, x := filepath.Join(t.TempDir(), "f"), images(600, tensor.Float32).X
	c := before(t, blocks(t, tensor.Float32), tensor.Float32, "last-layer")
	want, err := c.Features(t.Context(), x, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	c.Memory = opened(t, path, c)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := c.Features(ctx, x, gp.Run{OnProgress: func(p train.Progress) {
		if p.Done > between {
			stop()
		}
	}}); err == nil {
		t.Fatal("no error after the end of the context")
	}
	c.Memory.Close()
	c.Memory = opened(t, path, c)
	if n := c.Memory.Rows(); n != between || c.Memory.Missing(c, x) != 600-between {
		t.Errorf("features of %d rows, expected %d", n, between)
	}
	computed := 0
	got, err := c.Features(t.Context(), x, gp.Run{OnProgress: func(p train.Progress) { computed = p.Total }})
	if err != nil || computed != 600-between || !slices.Equal(graph.Floats(got), graph.Floats(want)) {
		t.Errorf("%d rows were computed, %v", computed, err)
	}
}

// TestDamage: a file that ends within a record, and a record with another sum, are mended.
func TestDamage(t *testing.T) {
	path, x := filepath.Join(t.TempDir(), "f"), images(40, tensor.Float64).X
	c := before(t, blocks(t, tensor.Float64), tensor.Float64, "last-layer")
	c.Memory = opened(t, path, c)
	want, err := c.Features(t.Context(), x, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	c.Memory.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(c.Memory.RecordBytes())
	if len(text) != headerBytes+40*size {
		t.Fatalf("a file of %d bytes", len(text))
	}
	text[headerBytes+3*size+30] ^= 1
	if err := os.WriteFile(path, text[:len(text)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	c.Memory = opened(t, path, c)
	computed := 0
	got, err := c.Features(t.Context(), x, gp.Run{OnProgress: func(p train.Progress) { computed = p.Total }})
	if err != nil || computed != 2 || !slices.Equal(graph.Floats(got), graph.Floats(want)) {
		t.Errorf("%d rows were computed, expected 2, %v", computed, err)
	}
	if _, err := Open(path, c, []byte("another form")); err == nil || !strings.Contains(err.Error(), path+": features of another network") {
		t.Errorf("error %v", err)
	}
}

// TestCutOff: rows whose records another process cuts off while the file is open are computed again.
func TestCutOff(t *testing.T) {
	path, x := filepath.Join(t.TempDir(), "f"), images(10, tensor.Float64).X
	c := before(t, blocks(t, tensor.Float64), tensor.Float64, "last-layer")
	c.Memory = opened(t, path, c)
	want, err := c.Features(t.Context(), x, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, headerBytes+7*c.Memory.RecordBytes()+5); err != nil {
		t.Fatal(err)
	}
	computed := 0
	got, err := c.Features(t.Context(), x, gp.Run{OnProgress: func(p train.Progress) { computed = p.Total }})
	if err != nil || computed != 3 || !slices.Equal(graph.Floats(got), graph.Floats(want)) {
		t.Errorf("%d rows were computed, expected 3, %v", computed, err)
	}
}

// FuzzOpen: a file with any bytes is refused in one line, or read without wrong features.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"format":"valla features 1","network":"0","parts":9,"shape":[3],"dtype":"float64"}`), []byte("record"))
	f.Add([]byte(`{"format":"valla features 2"}`), []byte{})
	f.Add([]byte(`{"format":"valla features 1","parts":1,"shape":[1073741824,1073741824],"dtype":"float32"}`), []byte{})
	c := before(f, blocks(f, tensor.Float64), tensor.Float64, "last-layer")
	x := images(1, tensor.Float64).X
	want, err := c.Features(f.Context(), x, gp.Run{})
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "f")
	if m, err := Open(path, c, nil); err != nil {
		f.Fatal(err)
	} else if err := m.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, []byte("record"))
	f.Fuzz(func(t *testing.T, head, rest []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, append(head, rest...), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, c, nil)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		defer m.Close()
		got := make([]float64, c.Width())
		if found, err := m.copyTo(newHasher(tensor.Float64).row(x, 0), got); err != nil || found && !slices.Equal(got, graph.Floats(want)) {
			t.Errorf("features %v, expected %v, %v", got, want, err)
		}
	})
}

// TestSums: a posterior behind a cut that is made anew from sums over the rows of its fit is the same, with its label.
func TestSums(t *testing.T) {
	net, e := blocks(t, tensor.Float64), images(30, tensor.Float64)
	f := fitted(t, before(t, net, tensor.Float64, "last-layer"), tensor.Float64)
	s, err := f.(gp.Summed).Sums(likelihood.Softmax{}, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}} {
		if err := s.Add(t.Context(), e.Rows(rows)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := s.Finish(t.Context(), 30, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := small.Predict(t, f, e.X)
	got := small.Predict(t, again.Posterior, e.X)
	same := func(a, b float64) bool { return a-b < 1e-10 && b-a < 1e-10 }
	if !slices.EqualFunc(got.Cov, want.Cov, same) || !slices.Equal(got.Mean, want.Mean) || again.Posterior.String() != f.String() {
		t.Errorf("%v: covariances %v, expected %v", again.Posterior, got.Cov[:3], want.Cov[:3])
	}
}
