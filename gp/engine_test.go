package gp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// double is a posterior of one output, twice the input. It compiles to sizes up to most, needs 10
// bytes for each input, and notes what was compiled.
type double struct {
	most  int
	zeros bool // refuses zeros

	mu   sync.Mutex
	made []int // sizes
	n    int   // predictions
}

func (d *double) Compile(r Request) (Compiled, error) {
	if len(r.Shape) != 1 {
		return nil, fmt.Errorf("inputs of shape %v, expected [D]", r.Shape)
	}
	c := &compiledDouble{d, r.Size, r.Shape[0]}
	if r.Limit > 0 && c.Bytes() > r.Limit || d.most > 0 && r.Size > d.most {
		return nil, &graph.MemoryError{What: "double", Need: c.Bytes(), Limit: r.Limit}
	}
	d.made = append(d.made, r.Size)
	return c, nil
}

type compiledDouble struct {
	of          *double
	size, width int
}

func (c *compiledDouble) Bytes() int64 { return int64(10 * c.size) }

func (c *compiledDouble) Predict(_ context.Context, x []float64, g *Gaussian) error {
	n := len(x) / c.width
	if n > c.size {
		return fmt.Errorf("%d inputs for a size of %d", n, c.size)
	}
	if c.of.zeros && slices.Contains(x, 0) {
		return errors.New("a zero")
	}
	c.of.mu.Lock()
	c.of.n++
	c.of.mu.Unlock()
	g.Resize(n, 1, true)
	for i := range n {
		g.Mean[i], g.Cov[i], g.Epistemic[i] = 2*x[i*c.width], 1, 0.5
	}
	return nil
}

// column returns the inputs 1, 2 … n.
func column(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

// TestEngineSizes: each number of inputs is predicted by the sizes that there are, each input
// once, whatever memory leaves of the sizes, and also where zeros are refused.
func TestEngineSizes(t *testing.T) {
	for what, d := range map[string]*double{"all": {}, "no zeros": {zeros: true}, "up to 8": {most: 8}, "one": {most: 1}} {
		e, err := NewEngine(d, []int{1}, EngineOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var g Gaussian
		for _, n := range []int{1, 2, 3, 8, 20, 22, 64, 65, 200, 5000, 7} {
			x := column(n)
			if err := e.Predict(t.Context(), x, &g); err != nil || g.N() != n || len(g.Epistemic) != n || len(g.Probs) > 0 {
				t.Fatalf("%s: %d predictions of %d, error %v", what, g.N(), n, err)
			}
			for i, v := range g.Mean {
				if v != 2*x[i] {
					t.Fatalf("%s: mean %d of %d is %g", what, i, n, v)
				}
			}
		}
		if d.most > 0 && slices.Max(d.made) > d.most {
			t.Errorf("%s: compiled %v", what, d.made)
		}
	}
}

// TestEngineMemory: little memory leaves out the large sizes; the smallest is compiled beyond the
// default, but not beyond a limit that is given. A call that waits for the only Compiled ends
// with its context.
func TestEngineMemory(t *testing.T) {
	d := &double{}
	e, err := NewEngine(d, []int{1}, EngineOptions{Memory: 95, Sizes: []int{64, 8, 1, 8}})
	if err == nil {
		err = e.Warm(t.Context())
	}
	if err != nil || !slices.Equal(d.made[:2], []int{1, 8}) || e.left < 0 {
		t.Fatalf("compiled %v, %d bytes left, error %v", d.made, e.left, err)
	}
	var full *graph.MemoryError
	if e, err = NewEngine(d, []int{1}, EngineOptions{Memory: 9}); err != nil || !errors.As(e.Warm(t.Context()), &full) {
		t.Errorf("9 bytes for one input: error %v", err)
	}
	if e, err = NewEngine(d, []int{1}, EngineOptions{Memory: 10, Sizes: []int{1}}); err != nil {
		t.Fatal(err)
	}
	q, c, err := e.take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- e.Predict(short, []float64{1}, new(Gaussian)) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a call that waits for the only Compiled", err)
	}
	q.free <- c
	if err := e.Predict(t.Context(), column(6), new(Gaussian)); err != nil {
		t.Error(err)
	}
}

// TestEngineThreads: many goroutines share an engine with room for few.
func TestEngineThreads(t *testing.T) {
	e, err := NewEngine(&double{}, []int{2}, EngineOptions{Memory: 200})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for i := range 16 {
		work.Go(func() {
			for n := 1; n < 40; n++ {
				var g Gaussian
				x := column(2 * n * (i%3 + 1))
				if err := e.Predict(t.Context(), x, &g); err != nil || g.Mean[g.N()-1] != 2*x[len(x)-2] {
					t.Errorf("%d inputs: %d means, error %v", n, g.N(), err)
				}
			}
		})
	}
	work.Wait()
}

// TestEngineErrors: wrong sizes, numbers and inputs are named, and an error in a later piece
// names the row.
func TestEngineErrors(t *testing.T) {
	d := &double{zeros: true}
	for _, sizes := range [][]int{{}, {0, 3}, {-1}} {
		if _, err := NewEngine(d, []int{1}, EngineOptions{Sizes: sizes}); err == nil {
			t.Errorf("sizes %v were taken", sizes)
		}
	}
	e, err := NewEngine(d, []int{2}, EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x := column(600)
	x[401] = 0 // of input 200, in the piece from 192 on
	for want, x := range map[string][]float64{
		"3 numbers, expected inputs of 2 each": {1, 2, 3}, "0 numbers": {}, "row 200 (counting from 0): a zero": x, "row 1 (counting from 0): a zero": x[398:404],
	} {
		if err := e.Predict(t.Context(), x, new(Gaussian)); err == nil || err.Error()[:min(len(want), len(err.Error()))] != want {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	for what, x := range map[string]*tensor.Dense{
		"integers": tensor.New(tensor.WithShape(3, 2), tensor.Of(tensor.Int)), "a vector": tensor.New(tensor.WithShape(4), tensor.Of(tensor.Float64)),
		"another width": tensor.New(tensor.WithShape(4, 3), tensor.Of(tensor.Float64)),
	} {
		if _, err := e.PredictAll(t.Context(), x); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	all := tensor.New(tensor.WithShape(300, 2), tensor.WithBacking(x))
	for rows, want := range map[int]string{300: "row 200 (counting from 0): a zero", 150: "row 200 (counting from 0): a zero", 130: "row 200 (counting from 0): a zero"} {
		if err := e.Each(t.Context(), all, rows, func(int, Gaussian) error { return nil }); err == nil || err.Error() != want {
			t.Errorf("parts of %d rows: error %v, expected %q", rows, err, want)
		}
	}
	failed := errors.New("failed")
	all = tensor.New(tensor.WithShape(300, 2), tensor.WithBacking(column(600)))
	if err := e.Each(t.Context(), all, 100, func(int, Gaussian) error { return failed }); err != failed {
		t.Errorf("error %v", err)
	}
}
