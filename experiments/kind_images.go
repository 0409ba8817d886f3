package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
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
type imageData struct {
	dir   string
	read  func(dir string) (*idx.Splits, error)
	other string
}

func (s imageData) folder() string { return s.dir }

func (s imageData) load(_ context.Context, l loading) (*Problem, error) {
	splits, err := s.read(filepath.Join(l.root, s.dir))
	if err != nil {
		return nil, err
	}
	other := datasets[s.other].(imageData)
	out, err := other.read(filepath.Join(l.root, other.dir))
	if err != nil {
		return nil, err
	}
	c := &classification{dtype: l.dtype, train: splits.Train, test: splits.Test, out: out.Test}
	held := c.examples(splits.Validation)
	return &Problem{Data: l.name, Dtype: l.dtype, Train: c.examples(splits.Train), Validation: &held, Task: c}, nil
}

// classification is the task of telling images apart.
type classification struct {
	dtype            tensor.Dtype
	train, test, out *idx.Set
}

// examples are images [N,H·W], pixels in [0,1], and one-hot labels.
func (c *classification) examples(s *idx.Set) Examples {
	if c.dtype == tensor.Float64 {
		return Examples{idx.Dense[float64](&s.Images), idx.OneHot[float64](s)}
	}
	return Examples{idx.Dense[float32](&s.Images), idx.OneHot[float32](s)}
}

func (c *classification) Outputs() int { return c.train.Classes }

func (*classification) Loss() train.Loss { return train.CrossEntropy }

func (*classification) Laplace() laplace.Likelihood { return laplace.Softmax }

func (*classification) Likelihood(float64, tensor.Dtype) likelihood.Likelihood {
	return likelihood.Softmax{}
}

// Inducing returns m/C centres of k-means for each of the C classes: m of them, or a few
// more so that all classes have as many.
func (c *classification) Inducing(_ Examples, m int, rng *rand.Rand) (z *tensor.Dense, class []int, err error) {
	width, per := c.train.H*c.train.W, (m+c.Outputs()-1)/c.Outputs()
	var centres []float64
	for k := range c.Outputs() {
		var rows []int
		for i, l := range c.train.Labels {
			if int(l) == k {
				rows = append(rows, i)
			}
		}
		x := make([]float64, len(rows)*width)
		idx.Gather(x, &c.train.Images, rows)
		z, err := data.KMeans(tensor.New(tensor.WithShape(len(rows), width), tensor.WithBacking(x)), per, data.RandomPoints, rng)
		if err != nil {
			return nil, nil, fmt.Errorf("inducing points of class %d: %w", k, err)
		}
		centres = append(centres, z.Float64s()...)
		for range per {
			class = append(class, k)
		}
	}
	return tensor.New(tensor.WithShape(len(class), width), tensor.WithBacking(centres)), class, nil
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
