package valla

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// source returns the inputs of the training. Augmented inputs change at random in each iteration.
func (t *training) source() (train.Source, error) {
	if !t.o.Training.Augment {
		return train.Rows{All: t.train.X}, nil
	}
	return t.model.augmented(t.raw.X, t.o.Seed)
}

// augmented returns images that are moved and mirrored at random, as the network takes them.
func (m *Model) augmented(images *tensor.Dense, seed uint64) (train.Source, error) {
	shape := images.Shape()
	if images.Dtype() != tensor.Uint8 || len(shape) != 4 || shape[1] != 3 {
		return nil, settings.Errorf("augment: inputs are %v of shape %v, expected images uint8 [N,3,H,W]", images.Dtype(), shape)
	}
	if in := m.Task.Inputs.Shape; !slices.Equal(in, shape[1:]) {
		return nil, settings.Errorf("augment: the network takes examples of shape %v, expected images %v", in, shape[1:])
	}
	if m.Dtype() == tensor.Float32 {
		return newAugmented[float32](images, m.Task.Inputs, seed), nil
	}
	return newAugmented[float64](images, m.Task.Inputs, seed), nil
}

// augmented is a source of images that are moved and mirrored at random in each iteration, see [augment.Usual].
type augmented[T image.Float] struct {
	images *tensor.Dense         // uint8 [N,3,H,W]
	norm   image.Normalize       // scaling of the channels
	seed   uint64                // seed of the changes
	how    *augment.Augmenter[T] // moves, mirrors and scales
}

func newAugmented[T image.Float](images *tensor.Dense, in task.Inputs, seed uint64) *augmented[T] {
	norm := image.Unit
	if in.Mean != nil {
		norm = image.Normalize{Mean: [3]float64(in.Mean), Std: [3]float64(in.Std)}
	}
	return &augmented[T]{images, norm, seed, augment.New[T](seed, norm, augment.Usual(images.Shape()[2], images.Shape()[3])...)}
}

// Shape implements train.Source.
func (a *augmented[T]) Shape() tensor.Shape { return a.images.Shape() }

// Load implements train.Source.
func (a *augmented[T]) Load(dst *tensor.Dense, rows []int, iteration int) error {
	shape := a.images.Shape()
	a.how.Batch(dst.Data().([]T), a.images.Uint8s(), shape[2], shape[3], rows, iteration)
	return nil
}

// Identity implements train.Source.
func (a *augmented[T]) Identity() string {
	return fmt.Sprintf("%d images with checksum %08x, normalised by %v, moved and mirrored with seed %d",
		a.images.Shape()[0], crc32.ChecksumIEEE(a.images.Uint8s()), a.norm, a.seed)
}
