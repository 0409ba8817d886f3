package augment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data/image"
)

// newView returns a view of h×w pixels.
func newView(h, w int) *view {
	v := &view{scratch: &scratch{}}
	v.show(make([]uint8, channels*h*w), h, w)
	return v
}

// All places of a crop and both directions come up equally often: chi-square of the
// 9·9·2 outcomes in 81,000 images with consecutive numbers has the mean 161 and the
// standard deviation √(2·161) = 18; the bounds are four of these away.
func TestOutcomesAreUniform(t *testing.T) {
	const n = 81000
	count := map[[3]int]int{}
	a := New[float32](3, image.Unit, CIFAR()...)
	pixels := make([]uint8, channels*32*32)
	for i := range n {
		a.apply(pixels, 32, 32, i, 7)
		side := 0
		if a.view.mirrored {
			side = 1
		}
		count[[3]int{a.view.y, a.view.x, side}]++
	}
	chi, want := 0.0, float64(n)/162
	for _, c := range count {
		chi += (float64(c) - want) * (float64(c) - want) / want
	}
	if len(count) != 162 || math.Abs(chi-161) > 72 {
		t.Errorf("%d outcomes, chi-square %.1f, want 162, about 161", len(count), chi)
	}
}

func TestFlipProbability(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, p := range []float64{0, .2, 1} {
		mirrored := 0
		for range 10000 {
			v := newView(1, 1)
			RandomFlip{p}.apply(v, rng)
			if v.mirrored {
				mirrored++
			}
		}
		// Four standard deviations of a binomial distribution.
		if math.Abs(float64(mirrored)-10000*p) > 400*math.Sqrt(p*(1-p)) {
			t.Errorf("probability %g: %d of 10000", p, mirrored)
		}
	}
}

// Parts stay inside, areas are uniform and logarithms of ratios are too, up to
// rounding to pixels.
func TestPartsOfStandard(t *testing.T) {
	const side, n = 400, 20000
	rng := rand.New(rand.NewPCG(2, 2))
	c := RandomResizedCrop{32, 32, [2]float64{.1, .5}, [2]float64{3. / 4, 4. / 3}}
	area, log, low, high := 0.0, 0.0, 1.0, 0.0
	for range n {
		top, left, h, w := c.part(side, side, rng)
		if top < 0 || left < 0 || h < 1 || w < 1 || top+h > side || left+w > side {
			t.Fatalf("part %d, %d, %d×%d of %d", top, left, h, w, side)
		}
		part := float64(h*w) / side / side
		area, log = area+part/n, log+math.Log(float64(w)/float64(h))/n
		low, high = min(low, part), max(high, part)
		if r := float64(w) / float64(h); r < .745 || r > 1.345 {
			t.Fatalf("ratio %g", r)
		}
	}
	// The mean of 20,000 uniform numbers is known to (.5-.1)/√12/√20000 = .0008.
	if math.Abs(area-.3) > .0035 || math.Abs(low-.1) > .003 || math.Abs(high-.5) > .003 || math.Abs(log) > .006 {
		t.Errorf("mean area %.4f from %.4f to %.4f, mean logarithm %.4f", area, low, high, log)
	}
}

// Where no part fits, the middle is taken: by hand after torchvision's
// RandomResizedCrop.get_params. 100/(3/4) = 133.3 and 100·(4/3) = 133.3.
func TestPartFallsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	too := RandomResizedCrop{8, 8, [2]float64{2, 3}, [2]float64{3. / 4, 4. / 3}}
	for _, c := range [][6]int{
		{300, 100, 83, 0, 133, 100}, {100, 300, 0, 83, 100, 133}, {100, 110, 0, 0, 100, 110},
	} {
		top, left, h, w := too.part(c[0], c[1], rng)
		if got := [4]int{top, left, h, w}; got != [4]int(c[2:]) {
			t.Errorf("%d×%d: %v, want %v", c[0], c[1], got, c[2:])
		}
	}
}

func TestRandomResizedCropIsCropAndResize(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		p := noise(20, 30, rng)
		v := &view{scratch: &scratch{}}
		v.show(p.pixels, p.h, p.w)
		c := Standard(12)
		c.apply(v, rand.New(rand.NewPCG(seed, 9)))
		top, left, h, w := c.part(p.h, p.w, rand.New(rand.NewPCG(seed, 9)))
		want := p.crop(top, left, h, w).resize(12, 12)
		got := make([]uint8, len(want.pixels))
		render(v, got, &identity)
		if v.h != 12 || v.w != 12 || string(got) != string(want.pixels) {
			t.Errorf("seed %d: not the part %d, %d, %d×%d resized", seed, top, left, h, w)
		}
	}
}

func TestStepsPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, f := range map[string]func(){
		"too large": func() { RandomCrop{5, 4, 0}.apply(newView(4, 4), rng) },
		"negative":  func() { RandomCrop{1, 1, -1}.apply(newView(4, 4), rng) },
		"empty":     func() { RandomCrop{0, 3, 0}.apply(newView(4, 4), rng) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
