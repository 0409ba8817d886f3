package experiments

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/experiments/spec"
	"gorgonia.org/tensor"
)

// colourSet is n random images with labels 0, 1, ….
func colourSet(t *testing.T, seed uint64, n int) *image.Set {
	t.Helper()
	rng, file := rand.New(rand.NewPCG(seed, 0)), []byte{}
	for i := range n {
		file = append(file, byte(i%10))
		for range 3 * 32 * 32 {
			file = append(file, byte(rng.UintN(256)))
		}
	}
	s, err := cifar.Decode(bytes.NewReader(file), "test", n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestColours: inputs are normalised as the network asks for, validation images are
// parts of every so many, the same each time, and training images change with the
// iteration alone.
func TestColours(t *testing.T) {
	s := &image.Splits{Train: colourSet(t, 1, 12), Validation: colourSet(t, 2, 20), Test: colourSet(t, 3, 5)}
	make := func(norm string) *Problem {
		return colours[float64](s, loading{name: "cifar10", dtype: tensor.Float64, validation: 0.25, network: spec.Network{Normalize: norm}})
	}
	p, same := make(""), make("chenyaofo")
	for norm, want := range map[string]image.Normalize{"": cifar.Chenyaofo, "chenyaofo": cifar.Chenyaofo, "akamaster": cifar.Akamaster} {
		got := make(norm).Train.X.Float64s()[0]
		if v := (float64(s.Train.Pixels[0])/255 - want.Mean[0]) / want.Std[0]; got != v {
			t.Errorf("normalised by %q the first pixel is %v, want %v", norm, got, v)
		}
	}
	if got, want := p.Validation.X.Shape(), []int{5, 3, 32, 32}; !slices.Equal(got, want) {
		t.Errorf("validation images have shape %v, want %v", got, want)
	}
	if got, want := labels(p.Validation.Y), []int{0, 4, 8, 2, 6}; !slices.Equal(got, want) {
		t.Errorf("validation labels %v, want those of every fourth image, %v", got, want)
	}
	if !slices.Equal(p.Validation.X.Float64s(), same.Validation.X.Float64s()) {
		t.Error("validation images differ from one time to the next")
	}
	whole := cifar.Dense(&s.Validation.Images, image.NewTable[float64](cifar.Chenyaofo)).Float64s()
	if slices.Equal(p.Validation.X.Float64s()[:3*32*32], whole[:3*32*32]) {
		t.Error("the first validation image is whole")
	}
	load := func(iteration int) []float64 {
		dst := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3, 32, 32))
		if err := p.Augmented.Load(dst, []int{7, 3}, iteration); err != nil {
			t.Fatal(err)
		}
		return dst.Float64s()
	}
	if !slices.Equal(load(4), load(4)) || slices.Equal(load(4), load(5)) {
		t.Error("training images do not change with the iteration alone")
	}
}
