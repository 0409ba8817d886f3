package graph_test

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestDraftBytes: a draft tells the memory that the program then holds, and takes none of it itself.
func TestDraftBytes(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := graph.NewBuilder(dt)
		x, w := b.Input("x", 20, 30), b.Input("w", 30, 30)
		y := b.Sum(b.Square(b.Tanh(b.MatMul(x, b.Tanh(w), false, false))))
		outputs := append(graph.Grad(b, y, x), y)
		for _, o := range []graph.Options{{}, {Varying: []*node{x}}} {
			d, err := graph.NewDraft(b, outputs, o)
			if err != nil {
				t.Fatal(err)
			}
			plan := d.Bytes()
			p, err := d.Compile()
			if err != nil {
				t.Fatal(err)
			}
			if plan != int64(p.Bytes()) || plan == 0 {
				t.Errorf("%v: planned %d bytes, the program holds %d", dt, plan, p.Bytes())
			}
		}
	}
	b := graph.NewBuilder(tensor.Float32)
	huge := b.Tanh(b.Input("x", 1<<20, 1<<18))
	if c, err := graph.CostOf(b, []*node{huge}, graph.Options{}); err != nil || c.Bytes != 1<<40 {
		t.Errorf("%d bytes planned, error %v; want 1 TiB", c.Bytes, err)
	}
}

func TestTile(t *testing.T) {
	need := func(size int) (int64, error) { return int64(100 + 10*size), nil }
	for limit, want := range map[int64]int{0: 12, 1000: 12, 220: 12, 219: 6, 140: 4, 139: 3, 110: 1} {
		size, bytes, err := graph.Tile("a step", 12, limit, need)
		if err != nil || size != want || bytes != int64(100+10*want) {
			t.Errorf("limit %d: parts of %d with %d bytes, error %v; want %d", limit, size, bytes, err, want)
		}
	}
	_, _, err := graph.Tile("a step", 12, 109, need)
	var m *graph.MemoryError
	if !errors.As(err, &m) || m.Need != 110 || err.Error() != "a step needs 110 bytes, more than the limit of 109 bytes" {
		t.Errorf("error %v", err)
	}
	for n, want := range map[int64]string{3 << 30: "3 GiB", 999: "999 bytes", 1_023_700: "0.976 MiB", 2000 << 40: "2000 TiB"} {
		if got := graph.Bytes(n); got != want {
			t.Errorf("%d bytes are %s, expected %s", n, got, want)
		}
	}
}

// TestFreeMemory: a program larger than the memory that is left is refused before it is made.
func TestFreeMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	b := graph.NewBuilder(tensor.Float64)
	_, err := graph.Compile(b, []*node{b.Square(b.Input("x", 5000, 5000))}, graph.Options{})
	var m *graph.MemoryError
	if !errors.As(err, &m) || !m.Free || m.Need != 200_000_000 || !strings.Contains(err.Error(), "200000000 bytes (191 MiB), more than the ") {
		t.Errorf("error %v", err)
	}
}
