package experiments

import (
	"context"
	"fmt"
	"hash/crc32"

	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/sets"
	"gorgonia.org/tensor"
)

// cifarData is CIFAR-10, normalised as the networks want it that the paper used. There is no
// data set out of distribution; there are corrupted test images.
type cifarData struct{ sets.Set }

func (c cifarData) load(_ context.Context, l loading) (*Problem, error) {
	s, err := c.Images(l.root)
	if err != nil {
		return nil, err
	}
	if l.dtype == tensor.Float32 {
		return colours[float32](s, l), nil
	}
	return colours[float64](s, l), nil
}

// normalizations are the constants that networks were trained with.
var normalizations = map[string]image.Normalize{"": cifar.Chenyaofo, "chenyaofo": cifar.Chenyaofo, "akamaster": cifar.Akamaster}

// colours makes a problem of images [N,3,32,32], normalised, and one-hot labels.
func colours[T image.Float](s *image.Splits, l loading) *Problem {
	norm := normalizations[l.network.Normalize]
	table := image.NewTable[T](norm)
	examples := func(s *image.Set) Examples { return Examples{cifar.Dense(&s.Images, table), image.OneHot[T](s)} }
	task := &classification{outputs: s.Test.Classes, test: examples(s.Test), class: s.Test.Class()}
	task.corrupt = func(ctx context.Context, kind string, level, n int) (*tensor.Dense, error) {
		how, err := corrupt.New(kind, level, 0)
		if err != nil {
			return nil, err
		}
		some := *s.Test.Slice(0, min(n, s.Test.N))
		pixels := make([]uint8, len(some.Pixels))
		if err := how.All(ctx, pixels, some.Pixels, some.H, some.W); err != nil {
			return nil, err
		}
		some.Pixels = pixels
		return examples(&some).X, nil
	}
	held := cropped[T](s.Validation, norm, l.validation)
	p := &Problem{Data: l.name, Dtype: l.dtype, Train: examples(s.Train), Validation: &held, Task: task}
	p.Augmented = &augmented[T]{set: s.Train, norm: norm, seed: l.seed, how: augment.New[T](l.seed, norm, augment.CIFAR()...)}
	return p
}

// cropped are the validation images, or evenly spaced ones that make up a fraction of them,
// of which random parts are resized to the whole. The pretrained networks have seen the
// images themselves in their training, and tell almost all of them right; with parts, as
// in the paper's released runs, they do not.
func cropped[T image.Float](s *image.Set, norm image.Normalize, fraction float64) Examples {
	n := s.N
	if fraction > 0 {
		n = max(1, int(fraction*float64(n)))
	}
	rows, size := make([]int, n), s.C*s.H*s.W
	for i := range rows {
		rows[i] = i * s.N / n
	}
	x, y := make([]T, n*size), make([]T, n*s.Classes)
	for i, row := range rows {
		y[i*s.Classes+int(s.Labels[row])] = 1
	}
	how := augment.Standard(s.H)
	how.Scale = [2]float64{0.5, 1}
	augment.New[T](0, norm, how).Batch(x, s.Pixels, s.H, s.W, rows, 0)
	return Examples{
		X: tensor.New(tensor.WithShape(n, s.C, s.H, s.W), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, s.Classes), tensor.WithBacking(y)),
	}
}

// augmented are training images, mirrored and moved at random in each iteration. It is a
// train.Source.
type augmented[T image.Float] struct {
	set  *image.Set
	norm image.Normalize
	seed uint64
	how  *augment.Augmenter[T]
}

func (a *augmented[T]) Shape() tensor.Shape {
	return tensor.Shape{a.set.N, a.set.C, a.set.H, a.set.W}
}

func (a *augmented[T]) Load(dst *tensor.Dense, rows []int, iteration int) error {
	a.how.Batch(dst.Data().([]T), a.set.Pixels, a.set.H, a.set.W, rows, iteration)
	return nil
}

func (a *augmented[T]) Identity() string {
	return fmt.Sprintf("%d images with checksum %08x, normalised by %v, moved and mirrored with seed %d",
		a.set.N, crc32.ChecksumIEEE(a.set.Pixels), a.norm, a.seed)
}
