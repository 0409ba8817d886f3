package layers

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSortNumbered(t *testing.T) {
	for _, c := range []struct {
		in, want string
		families int
	}{
		{"0 3 6", "0 3 6", 1},
		{"10 0 3 2", "0 2 3 10", 1},
		{"fc1 fc10 fc2", "fc1 fc2 fc10", 1},
		{"net.0 net.10 net.2 out", "net.0 net.2 net.10 out", 2},
		{"hidden input output", "hidden input output", 3},
		{"in h2 mid h1 out", "in h1 mid h2 out", 4},
		{"l2.1 l1.10 l1.9 l2.0", "l1.9 l1.10 l2.0 l2.1", 1},
		{"a1.x a1.y a0.x a0.y", "a0.x a0.y a1.x a1.y", 2},
		{"a007 a6 a08", "a6 a007 a08", 1},
		{"a18446744073709551617 a18446744073709551616", "a18446744073709551616 a18446744073709551617", 1}, // 2^64 and one more
		{"", "", 1},
	} {
		got := strings.Split(c.in, " ")
		families := sortNumbered(got)
		if !slices.Equal(got, strings.Split(c.want, " ")) || families != c.families {
			t.Errorf("%q: %q and %d families, want %q and %d", c.in, got, families, c.want, c.families)
		}
	}
}

// Names that differ in numbers alone come out the same from any order.
func TestSortNumberedForgetsOrder(t *testing.T) {
	want := []string{"net.0", "net.2", "net.4", "net.9", "net.10", "net.11", "net.100"}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		got := slices.Clone(want)
		rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if sortNumbered(got); !slices.Equal(got, want) {
			t.Fatalf("%q", got)
		}
	}
}

func TestLayerFinders(t *testing.T) {
	for _, c := range []struct {
		find        layerFinder
		names, want string
	}{
		{torchLayers, "0.weight 0.bias 3.weight 3.bias", "0.weight 0.bias 3.weight 3.bias"},
		{torchLayers, "weight bias", "weight bias"}, // a Linear by itself
		{torchLayers, "a.b.weight", "a.b.weight a.b.bias"},
		{torchLayers, "fc2.bias fc1.weight", "fc1.weight fc1.bias fc2.weight fc2.bias"},
		{torchLayers, "myweight bn.running_mean W1 weight.x", ""},
		{numberedLayers, "b2 W1 b1 W2", "W1 b1 W2 b2"},
		{numberedLayers, "W10", "W1 b1"},
		{numberedLayers, "W0 W01 w1 W1x xW1 W", ""},
	} {
		f := &weightFile{names: strings.Fields(c.names)}
		layers, err := c.find(f)
		if got := strings.Join(flatten(layers), " "); err != nil || got != c.want {
			t.Errorf("%q: %q and error %v, want %q", c.names, got, err, c.want)
		}
	}
}
