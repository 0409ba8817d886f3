package augment

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/data/image"
)

// CIFAR returns the usual steps for CIFAR.
func CIFAR() []Step { return Usual(32, 32) }

// Usual returns the steps with which networks for small images of h×w pixels are usually trained (He and
// others 2016, "Deep Residual Learning for Image Recognition", section 4.2): a crop of the image's size
// from the image with 4 black pixels around it, mirrored with probability one half.
func Usual(h, w int) []Step { return []Step{RandomCrop{h, w, 4}, RandomFlip{.5}} }

// An Augmenter applies steps to the images of a set. It keeps its working memory, so that
// several goroutines must not use it at once. Several augmenters with the same seed and the
// same steps may share the work. Make one with [New].
type Augmenter[T image.Float] struct {
	seed   uint64          // of all random numbers
	steps  []Step          // in the order in which they are applied
	table  *image.Table[T] // the normalised value of every byte
	source rand.PCG        // of rng; it is seeded anew for every image
	rng    *rand.Rand      // the random numbers of the current image
	view   view            // the current image
}

// New returns the augmenter that applies steps in their order and then normalises with n.
// All random numbers depend on the seed.
func New[T image.Float](seed uint64, n image.Normalize, steps ...Step) *Augmenter[T] {
	a := &Augmenter[T]{seed: seed, steps: steps, table: image.NewTable[T](n)}
	a.rng = rand.New(&a.source)
	a.view.scratch = &scratch{}
	return a
}

// Batch changes and normalises the images with the numbers rows of the set images [N,3,h,w]
// and writes them to dst [len(rows),3,H,W], where H×W is the size after the steps. The
// changes depend on the seed, on time, which is the number of the iteration or of the epoch,
// and on the image's number. Batch allocates nothing. It panics if a number is not in [0,N)
// or dst has another length.
func (a *Augmenter[T]) Batch(dst []T, images []uint8, h, w int, rows []int, time int) {
	if len(rows) == 0 {
		return
	}
	size, out := channels*h*w, len(dst)/len(rows)
	for i, r := range rows {
		a.apply(images[r*size:(r+1)*size], h, w, r, time)
		if got := channels * a.view.h * a.view.w; got*len(rows) != len(dst) {
			panic(fmt.Sprintf("augment: %d values for %d images of %d×%d×%d", len(dst), len(rows), channels, a.view.h, a.view.w))
		}
		render(&a.view, dst[i*out:(i+1)*out], (*[channels][256]T)(a.table))
	}
}

// Bytes changes the image pixels [3,h,w], which has the number row in its set, like
// [Augmenter.Batch], but does not normalise it. It returns the result [3,H,W] and its size.
func (a *Augmenter[T]) Bytes(pixels []uint8, h, w, row, time int) (out []uint8, H, W int) {
	a.apply(pixels, h, w, row, time)
	out = make([]uint8, channels*a.view.h*a.view.w)
	render(&a.view, out, &identity)
	return out, a.view.h, a.view.w
}

// apply applies the steps to an image and leaves the result in view.
func (a *Augmenter[T]) apply(pixels []uint8, h, w, row, time int) {
	a.source.Seed(mix(a.seed^mix(uint64(time)+1)), mix(uint64(row)))
	a.view.show(pixels, h, w)
	for _, s := range a.steps {
		s.apply(&a.view, a.rng)
	}
}

// mix makes every bit of the result depend on every bit of x (Stafford's variant 13 of the
// finaliser of MurmurHash3, as in SplitMix64), so that neighbouring numbers seed unrelated
// random streams.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
