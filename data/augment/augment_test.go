package augment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/go-valla/valla/data/image"
)

var some = image.Normalize{Mean: [3]float64{.4914, .4822, .4465}, Std: [3]float64{.2023, .1994, .2010}}

// set returns n images of 32×32 pixels.
func set(n int) []uint8 {
	rng := rand.New(rand.NewPCG(8, 8))
	var out []uint8
	for range n {
		out = append(out, noise(32, 32, rng).pixels...)
	}
	return out
}

const size = channels * 32 * 32

// slow pads an image with black, cuts it, mirrors it, and normalises each pixel: the
// order of RandomCrop, RandomHorizontalFlip, ToTensor and Normalize.
func slow[T image.Float](pixels []uint8, seed uint64, row, time int) []T {
	var source rand.PCG
	source.Seed(mix(seed^mix(uint64(time)+1)), mix(uint64(row)))
	rng := rand.New(&source)
	top, left := rng.IntN(9), rng.IntN(9)
	p := plain{32, 32, pixels}.crop(-4, -4, 40, 40).crop(top, left, 32, 32)
	if rng.Float64() < .5 {
		p = p.mirror()
	}
	out := make([]T, size)
	for i, v := range p.pixels {
		c := i / 1024
		out[i] = (T(v)/255 - T(some.Mean[c])) / T(some.Std[c])
	}
	return out
}

func testBatch[T image.Float](t *testing.T) {
	images := set(20)
	rows := []int{3, 19, 0, 3, 7}
	a := New[T](11, some, CIFAR()...)
	got := make([]T, len(rows)*size)
	for _, time := range []int{0, 1, 1000000} {
		a.Batch(got, images, 32, 32, rows, time)
		var want []T
		for _, r := range rows {
			want = append(want, slow[T](images[r*size:(r+1)*size], 11, r, time)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%T, time %d: the batch is not what the slow steps give", got[0], time)
		}
	}
}

func TestBatch(t *testing.T) {
	testBatch[float32](t)
	testBatch[float64](t)
}

// Any order, any division of the work and any start give the same images. Another seed, time
// or image number gives others.
func TestBatchDependsOnItsNumbersOnly(t *testing.T) {
	images := set(64)
	rows := rand.New(rand.NewPCG(1, 0)).Perm(64)
	steps := []Step{Standard(16), RandomFlip{.5}}
	const out = channels * 16 * 16
	whole := make([]float32, 64*out)
	New[float32](1, some, steps...).Batch(whole, images, 32, 32, rows, 9)
	parts := make([]float32, len(whole))
	var workers sync.WaitGroup
	for from := 0; from < 64; from += 13 {
		workers.Go(func() {
			to := min(from+13, 64)
			a := New[float32](1, some, steps...)
			a.Batch(make([]float32, out), images, 32, 32, rows[:1], 3) // leaves no trace
			a.Batch(parts[from*out:to*out], images, 32, 32, rows[from:to], 9)
		})
	}
	workers.Wait()
	if !slices.Equal(whole, parts) {
		t.Error("the division of the work changes the images")
	}
	same := slices.Repeat(images[:size], 2)
	for name, c := range map[string]struct {
		seed      uint64
		row, time int
	}{"seed": {2, 0, 9}, "time": {1, 0, 10}, "number": {1, 1, 9}} {
		a, b := make([]float32, out), make([]float32, out)
		New[float32](1, some, steps...).Batch(a, same, 32, 32, []int{0}, 9)
		New[float32](c.seed, some, steps...).Batch(b, same, 32, 32, []int{c.row}, c.time)
		if slices.Equal(a, b) {
			t.Errorf("another %s, the same image", name)
		}
	}
}

func TestBytes(t *testing.T) {
	images := set(3)
	a := New[float64](1, image.Unit, CIFAR()...)
	got, h, w := a.Bytes(images[size:2*size], 32, 32, 1, 4)
	values := make([]float64, size)
	a.Batch(values, images, 32, 32, []int{1}, 4)
	if h != 32 || w != 32 {
		t.Fatalf("size %d×%d", h, w)
	}
	for i, v := range got {
		if values[i] != float64(v)/255 {
			t.Fatalf("value %d is %g, byte %d", i, values[i], v)
		}
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	images := set(10)
	dst := make([]float32, 10*size)
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for name, steps := range map[string][]Step{"cifar": CIFAR(), "resized": {Standard(32), RandomFlip{.5}}} {
		a := New[float32](1, some, steps...)
		time := 0
		for range 200 { // enough for the largest part to occur
			a.Batch(dst, images, 32, 32, rows, time)
			time++
		}
		if n := testing.AllocsPerRun(20, func() { a.Batch(dst, images, 32, 32, rows, time) }); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

func TestBatchPanicsOnOtherSizes(t *testing.T) {
	for _, n := range []int{size - 1, size + 1, 2 * size} {
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Errorf("%d values for an image of %d: no panic", n, size)
				} else if s := fmt.Sprint(r); s[:8] != "augment:" {
					t.Errorf("panic %q", s)
				}
			}()
			New[float32](1, some, CIFAR()...).Batch(make([]float32, n), set(1), 32, 32, []int{0}, 0)
		}()
	}
	New[float32](1, some).Batch(nil, nil, 32, 32, nil, 0) // an empty batch is one
}

func BenchmarkBatch(b *testing.B) {
	const n = 128
	images, dst := set(n), make([]float32, n*size)
	rows := rand.New(rand.NewPCG(1, 0)).Perm(n)
	for name, steps := range map[string][]Step{"none": nil, "cifar": CIFAR(), "resized": {Standard(32), RandomFlip{.5}}} {
		b.Run(name, func(b *testing.B) {
			a := New[float32](1, some, steps...)
			b.ReportAllocs()
			b.SetBytes(n * size)
			i := 0
			for b.Loop() {
				a.Batch(dst, images, 32, 32, rows, i)
				i++
			}
		})
	}
}
