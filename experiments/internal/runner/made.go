package runner

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
)

// sizes are the sizes of a data set for which made rows can stand.
type sizes struct {
	train, held, test int   // rows; held is 0 where a fraction of the training rows is held out
	input             []int // the shape of an input: columns, or channels, height and width
	other             bool  // there are as many images out of distribution as for testing
}

// madeSizes are the data sets for which made rows can stand.
var madeSizes = map[string]sizes{
	"boston":   {455, 0, 51, []int{13}, false},
	"concrete": {927, 0, 103, []int{8}, false},
	"energy":   {691, 0, 77, []int{8}, false},
	"kin8nm":   {7373, 0, 819, []int{8}, false},
	"power":    {8611, 0, 957, []int{4}, false},
	"yacht":    {277, 0, 31, []int{6}, false},

	"airline-nycflights13": {219_082, holdout.Most, 27_386, []int{8}, false},
	"taxi-green":           {53_687, 6710, 6712, []int{8}, false},

	"mnist":   {55_000, 5000, 10_000, []int{1, 28, 28}, true},
	"fmnist":  {55_000, 5000, 10_000, []int{1, 28, 28}, true},
	"cifar10": {45_000, 5000, 10_000, []int{3, 32, 32}, false},
}

// made makes a problem of the sizes of a data set. Its rows need no file, and a network learns them in some hundred steps.
func made(name string, fraction float64, seed uint64) (*problem, error) {
	s, ok := madeSizes[name]
	if !ok {
		return nil, fmt.Errorf("%s: no rows can be made in its place", name)
	}
	p, rng := &problem{name: name, classes: len(s.input) == 3, note: result.MadeNote}, rand.New(rand.NewPCG(1, seed))
	if p.classes {
		c := newMadeClasses(s.input, rng)
		held := c.images(s.held, rng)
		if s.input[0] == 3 { // as loadImages holds them out
			held = cropped(held, fraction)
		}
		p.train, p.held, p.test = asSet(c.images(s.train, rng)), asSet(held), asSet(c.images(s.test, rng))
		if s.other {
			p.other = asSet(newMadeClasses(s.input, rng).images(s.test, rng))
		}
		return p, nil
	}
	all := madeTable(s.train+s.held+s.test, s.input[0], rng)
	p.train, p.test = all.Rows(dense.Indices(s.train)), all.Rows(dense.UpTo(s.train, s.test))
	if s.held > 0 {
		p.held = all.Rows(dense.UpTo(s.train+s.test, s.held))
		return p, nil
	}
	var err error
	p.train, p.held, err = holdout.Split(p.train, fraction, seed)
	return p, err
}

// madeTable returns n rows of standard normal numbers, whose target is a wave across them with noise.
func madeTable(n, columns int, rng *rand.Rand) *data.Set {
	direction := make([]float64, columns)
	for i := range direction {
		direction[i] = 2 * rng.NormFloat64() / math.Sqrt(float64(columns))
	}
	x, y := make([]float64, n*columns), make([]float64, n)
	for i := range y {
		phase := 0.0
		for j, d := range direction {
			x[i*columns+j] = rng.NormFloat64()
			phase += d * x[i*columns+j]
		}
		y[i] = math.Sin(phase) + 0.3*rng.NormFloat64()
	}
	return &data.Set{Targets: []string{"y"}, X: tensor.New(tensor.WithShape(n, columns), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
}

// madeClasses draws images of ten classes around some centres of each class.
type madeClasses struct {
	input   []int     // the shape of an image
	centres [][]uint8 // the class of centre i is i modulo the number of classes
}

const (
	madeOutputs = 10      // classes
	madeWrong   = 1. / 20 // the part of the images with a class of chance
	madeCentres = 10 * madeOutputs
)

// newMadeClasses draws the centres.
func newMadeClasses(input []int, rng *rand.Rand) madeClasses {
	c := madeClasses{input: input, centres: make([][]uint8, madeCentres)}
	for i := range c.centres {
		c.centres[i] = make([]uint8, tensor.Shape(input).TotalSize())
		for j := range c.centres[i] {
			c.centres[i][j] = uint8(rng.Uint32())
		}
	}
	return c
}

// images returns n images. A pixel is the mean of the centre's and of a random one.
func (c madeClasses) images(n int, rng *rand.Rand) *image.Set {
	size := len(c.centres[0])
	s := &image.Set{Images: image.Images{N: n, C: c.input[0], H: c.input[1], W: c.input[2], Pixels: make([]uint8, n*size)}, Labels: make([]uint8, n), Classes: madeOutputs}
	for i := range n {
		k := rng.IntN(len(c.centres))
		s.Labels[i] = uint8(k % madeOutputs)
		if rng.Float64() < madeWrong {
			s.Labels[i] = uint8(rng.IntN(madeOutputs))
		}
		to, noise := s.Pixels[i*size:(i+1)*size], uint64(0)
		for j, v := range c.centres[k] {
			if j%8 == 0 {
				noise = rng.Uint64()
			}
			to[j] = uint8((uint(v) + uint(noise&0xff)) / 2)
			noise >>= 8
		}
	}
	return s
}
