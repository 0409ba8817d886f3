package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// imageData is a data set of grey images; the test images of another one are out of
// distribution.
type imageData struct{ sets.Set }

func (s imageData) load(_ context.Context, l loading) (*Problem, error) {
	splits, err := s.Images(l.root)
	if err != nil {
		return nil, err
	}
	other, err := sets.Lookup(s.Other)
	if err != nil {
		return nil, err
	}
	out, err := other.Images(l.root)
	if err != nil {
		return nil, err
	}
	c := &classification{test: greys(splits.Test, l.dtype), class: splits.Test.Class(), out: greys(out.Test, l.dtype).X, outputs: splits.Train.Classes}
	c.turn = func(degrees float64, n int) (*tensor.Dense, error) {
		t := splits.Test.Slice(0, min(n, splits.Test.N))
		pixels, err := image.Rotate(t.Pixels, t.H, t.W, degrees, image.Bilinear)
		if err != nil {
			return nil, err
		}
		return greys(&image.Set{Images: image.Images{N: t.N, C: 1, H: t.H, W: t.W, Pixels: pixels}, Labels: t.Labels, Classes: t.Classes}, l.dtype).X, nil
	}
	held := greys(splits.Validation, l.dtype)
	return &Problem{Data: l.name, Dtype: l.dtype, Train: greys(splits.Train, l.dtype), Validation: &held, Task: c}, nil
}

// greys are images [N,H·W], pixels in [0,1], and one-hot labels.
func greys(s *image.Set, dt tensor.Dtype) Examples {
	if dt == tensor.Float64 {
		return Examples{idx.Dense[float64](&s.Images), image.OneHot[float64](s)}
	}
	return Examples{idx.Dense[float32](&s.Images), image.OneHot[float32](s)}
}

// classification is the task of telling images apart.
type classification struct {
	outputs int
	test    Examples
	class   []int         // of the test images
	out     *tensor.Dense // inputs out of distribution; nil: there are none
	// turn returns the first n test images turned by an angle; nil: they cannot be.
	turn func(degrees float64, n int) (*tensor.Dense, error)
	// corrupt returns the first n test images corrupted; nil: they cannot be.
	corrupt func(ctx context.Context, kind string, level, n int) (*tensor.Dense, error)
}

func (c *classification) Outputs() int { return c.outputs }

func (*classification) Loss() train.Loss { return train.CrossEntropy }

func (*classification) Laplace() laplace.Likelihood { return laplace.Softmax }

func (*classification) Likelihood(float64, tensor.Dtype) likelihood.Likelihood {
	return likelihood.Softmax{}
}

// Inducing returns m/C centres of k-means for each of the C classes: m of them, or a few
// more so that all classes have as many.
func (c *classification) Inducing(t Examples, m int, rng *rand.Rand) (z *tensor.Dense, class []int, err error) {
	shape, per, of := t.X.Shape().Clone(), (m+c.outputs-1)/c.outputs, labels(t.Y)
	var centres []float64
	for k := range c.outputs {
		var rows []int
		for i, l := range of {
			if l == k {
				rows = append(rows, i)
			}
		}
		if len(rows) < per {
			return nil, nil, fmt.Errorf("inducing points of class %d: %d images, expected %d at least", k, len(rows), per)
		}
		x := graph.Convert(data.TakeRows(t.X, rows), tensor.Float64)
		if err := x.Reshape(len(rows), x.Size()/len(rows)); err != nil {
			return nil, nil, err
		}
		z, err := data.KMeans(x, per, data.RandomPoints, rng)
		if err != nil {
			return nil, nil, fmt.Errorf("inducing points of class %d: %w", k, err)
		}
		centres = append(centres, z.Float64s()...)
		class = append(class, slices.Repeat([]int{k}, per)...)
	}
	shape[0] = len(class)
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(centres)), class, nil
}

func (*classification) NLL(g gp.Gaussian, _ float64, e Examples) (float64, error) {
	var m metric.Classification
	if err := m.Add(gp.ProbitProbs(g).Float64s(), labels(e.Y)); err != nil {
		return 0, err
	}
	s, err := m.Result()
	return s.NLL, err
}

// labels are the classes of one-hot rows.
func labels(y *tensor.Dense) []int {
	n, c := y.Shape()[0], y.Shape()[1]
	v, out := graph.Floats(y), make([]int, n)
	for i := range out {
		for k := range c {
			if v[i*c+k] == 1 {
				out[i] = k
			}
		}
	}
	return out
}
