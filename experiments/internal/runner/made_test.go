package runner

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/holdout"
)

// TestMadeSizes: made rows have the sizes of the data sets that are there.
func TestMadeSizes(t *testing.T) {
	folder := fixture.Shared(t, "data")
	for name, s := range madeSizes {
		set, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		got := sizes{other: set.Other != ""}
		if set.HasImages() {
			i, err := set.Images(folder)
			if err != nil {
				t.Fatal(err)
			}
			got.train, got.held, got.test, got.input = i.Train.N, i.Validation.N, i.Test.N, []int{i.Train.C, i.Train.H, i.Train.W}
		} else {
			parts, err := set.Table(folder, 0)
			if err != nil {
				t.Fatal(err)
			}
			got.train, got.test, got.input = parts.Train.N(), parts.Test.N(), parts.Train.X.Shape()[1:]
			if parts.Validation != nil {
				got.held = min(parts.Validation.N(), holdout.Most)
			}
		}
		if got.train != s.train || got.held != s.held || got.test != s.test || got.other != s.other || !slices.Equal(got.input, s.input) {
			t.Errorf("%s: %+v, expected %+v", name, s, got)
		}
	}
}

// TestMadeTable: the same seed makes the same rows. Rows are held out where the set keeps none, and the target follows the inputs.
func TestMadeTable(t *testing.T) {
	a, err := made("yacht", 0.1, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := made("yacht", 0.1, 3)
	c, _ := made("yacht", 0.1, 4)
	s := madeSizes["yacht"]
	if a.held == nil || a.train.N()+a.held.N() != s.train || a.test.N() != s.test || a.classes || a.note != result.MadeNote {
		t.Errorf("%d, %d and %d rows", a.train.N(), a.held.N(), a.test.N())
	}
	if x := a.train.X.Float64s(); !slices.Equal(x, b.train.X.Float64s()) || slices.Equal(x, c.train.X.Float64s()) {
		t.Error("the rows do not depend on the seed alone")
	}
	noise := 0.0
	for _, y := range a.train.Y.Float64s() {
		noise = max(noise, math.Abs(y))
	}
	if noise < 1 || noise > 1+5*0.3 {
		t.Errorf("targets up to %v, expected a wave with noise", noise)
	}
	if _, err := made("toy1d", 0.1, 0); err == nil {
		t.Error("a set without sizes is made")
	}
}

// TestMadeImages: images near the same centre have the same class but for a few, and images out of distribution lie elsewhere.
func TestMadeImages(t *testing.T) {
	defer func(s sizes) { madeSizes["mnist"] = s }(madeSizes["mnist"])
	madeSizes["mnist"] = sizes{600, 50, 40, []int{1, 6, 6}, true}
	p, err := made("mnist", 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p.train.N() != 600 || p.held.N() != 50 || p.test.N() != 40 || p.other.N() != 40 || !p.train.X.Shape().Eq(tensor.Shape{600, 1, 6, 6}) || !p.classes {
		t.Fatalf("%d, %d, %d and %d images of %v", p.train.N(), p.held.N(), p.test.N(), p.other.N(), p.train.X.Shape())
	}
	near := func(of *data.Set, i int) (class float64, distance int) {
		x, all := of.X.Uint8s()[36*i:36*(i+1)], p.train.X.Uint8s()
		distance = math.MaxInt
		for j := range p.train.N() {
			sum := 0
			for k, v := range x {
				d := int(v) - int(all[36*j+k])
				sum += d * d
			}
			if sum < distance {
				class, distance = p.train.Y.Float64s()[j], sum
			}
		}
		return class, distance
	}
	right, in, out := 0, 0, 0
	for i := range p.test.N() {
		class, distance := near(p.test, i)
		if class == p.test.Y.Float64s()[i] {
			right++
		}
		_, other := near(p.other, i)
		in, out = in+distance, out+other
	}
	if right < 25 || right == p.test.N() || in >= out {
		t.Errorf("%d of %d classes are those of the nearest image; distances %d, and %d out of distribution", right, p.test.N(), in, out)
	}
}
