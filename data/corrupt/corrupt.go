package corrupt

import (
	"context"
	"errors"
	"fmt"
	"github.com/go-valla/valla/internal/settings"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Severities is the number of severities: they are 1 to Severities.
const Severities = 5

// channels is the number of channels of an image.
const channels = 3

// errUnknown is wrapped by the errors about a name or a severity that is not known.
var errUnknown = errors.New("unknown corruption")

// An effect corrupts an image: it reads src and writes all of dst.
type effect func(f *frame)

// onUnit returns the effect that changes the values of an image, which are 0 to 1, in place.
func onUnit(change func(f *frame, x []float64)) effect {
	return func(f *frame) {
		x := f.unit()
		change(f, x)
		f.finish(x)
	}
}

// onValues returns the effect that replaces each value v of an image, which is 0 to 1.
func onValues(change func(f *frame, v float64) float64) effect {
	return onUnit(func(f *frame, x []float64) {
		for i, v := range x {
			x[i] = change(f, v)
		}
	})
}

// methods are the corruptions in the order of the paper, which keeps the last four for
// validation. Each make returns the effect of a severity, here counted from 0 to 4.
var methods = []struct {
	name string                    // of the files of CIFAR-10-C
	make func(severity int) effect // returns the effect of a severity from 0 to 4
}{
	{"gaussian_noise", gaussianNoise},
	{"shot_noise", shotNoise},
	{"impulse_noise", impulseNoise},
	{"defocus_blur", defocusBlur},
	{"glass_blur", glassBlur},
	{"motion_blur", motionBlur},
	{"zoom_blur", zoomBlur},
	{"snow", snow},
	{"frost", frost},
	{"fog", fog},
	{"brightness", brightness},
	{"contrast", contrast},
	{"elastic_transform", elasticTransform},
	{"pixelate", pixelate},
	{"jpeg_compression", jpegCompression},
	{"speckle_noise", speckleNoise},
	{"gaussian_blur", gaussianBlur},
	{"spatter", spatter},
	{"saturate", saturate},
}

// Names returns the names of the corruptions in the order of the paper. They are the names of
// the files of CIFAR-10-C.
func Names() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}

// A Corruption is one kind of corruption at one severity. Several goroutines may use it at
// once. Make one with [New].
type Corruption struct {
	Name     string // one of [Names]
	Severity int    // 1 to Severities
	Seed     uint64 // of the random numbers

	effect effect // corrupts an image
	source uint64 // of the random numbers: a function of the three above
}

// New returns the corruption with a name at a severity of 1 to 5. All random numbers depend
// on the seed. Another name or severity is an error.
func New(name string, severity int, seed uint64) (*Corruption, error) {
	if severity < 1 || severity > Severities {
		return nil, fmt.Errorf("%w: severity %d of %q, expected 1 to %d", errUnknown, severity, name, Severities)
	}
	for _, m := range methods {
		if m.name == name {
			h := fnv.New64a()
			fmt.Fprintf(h, "%s %d %d", name, severity, seed)
			return &Corruption{name, severity, seed, m.make(severity - 1), h.Sum64()}, nil
		}
	}
	return nil, fmt.Errorf("%w %q, expected one of %s%s", errUnknown, name, strings.Join(Names(), ", "), settings.Nearest(name, Names()))
}

// Apply corrupts the image src [3,h,w] and writes the result to dst [3,h,w], which may be
// src. The result depends on c, on src and on index, the number of the image in its set, and
// on nothing else. It panics if a length is not 3·h·w.
func (c *Corruption) Apply(dst, src []uint8, h, w, index int) {
	if h < 1 || w < 1 || len(src) != channels*h*w || len(dst) != len(src) {
		panic(fmt.Sprintf("corrupt: %d and %d bytes for an image of %d×%d×%d", len(dst), len(src), channels, h, w))
	}
	if &dst[0] == &src[0] {
		src = slices.Clone(src)
	}
	c.effect(&frame{h: h, w: w, dst: dst, src: src, rng: rand.New(rand.NewPCG(c.source, uint64(index)))})
}

// All corrupts the images [N,3,h,w] on all processors and writes the results to dst, which
// has the same length. Image i becomes the result of [Corruption.Apply] with the index i.
// If ctx ends, All returns its error and leaves dst incomplete. It panics if a length is wrong.
func (c *Corruption) All(ctx context.Context, dst, images []uint8, h, w int) error {
	size := channels * h * w
	if size < 1 || len(images)%size != 0 || len(dst) != len(images) {
		panic(fmt.Sprintf("corrupt: %d and %d bytes for images of %d×%d×%d", len(dst), len(images), channels, h, w))
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(images)/size {
					return
				}
				c.Apply(dst[i*size:(i+1)*size], images[i*size:(i+1)*size], h, w, i)
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}
