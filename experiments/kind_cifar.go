package experiments

import (
	"context"
	"path/filepath"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/data/image"
	"gorgonia.org/tensor"
)

// cifarData is CIFAR-10, normalised as the networks want it that the paper used. There is no
// data set out of distribution; there are corrupted test images.
type cifarData struct{ dir string }

func (c cifarData) folder() string { return c.dir }

func (c cifarData) load(_ context.Context, l loading) (*Problem, error) {
	s, err := cifar.CIFAR10(filepath.Join(l.root, c.dir))
	if err != nil {
		return nil, err
	}
	colours := colours64
	if l.dtype == tensor.Float32 {
		colours = colours32
	}
	held := colours(s.Validation)
	task := &classification{outputs: s.Test.Classes, test: colours(s.Test), class: s.Test.Class()}
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
		return colours(&some).X, nil
	}
	return &Problem{Data: l.name, Dtype: l.dtype, Train: colours(s.Train), Validation: &held, Task: task}, nil
}

// colours32 and colours64 are images [N,3,32,32], normalised, and one-hot labels.
func colours32(s *cifar.Set) Examples { return colours(s, image.NewTable[float32](cifar.Chenyaofo)) }
func colours64(s *cifar.Set) Examples { return colours(s, image.NewTable[float64](cifar.Chenyaofo)) }

func colours[T image.Float](s *cifar.Set, t *image.Table[T]) Examples {
	return Examples{cifar.Dense(&s.Images, t), cifar.OneHot[T](s)}
}
