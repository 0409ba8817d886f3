package honest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/internal/dense"
)

// Streams of random numbers of the rows, each started by its number.
const (
	wavesSeed = iota + 1
	cloudsSeed
	splitSeed
	labelSeed
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// mostTest bounds the rows to judge by.
const mostTest = 1000

// divide returns n rows for training and up to mostTest others, at random.
func divide(all *data.Set, n int) (train, test *data.Set, err error) {
	rows := newRand(splitSeed).Perm(all.N())
	if n >= len(rows) {
		return nil, nil, fmt.Errorf("%d rows, expected more than the %d to train on", len(rows), n)
	}
	return all.Rows(rows[:n]), all.Rows(rows[n:min(len(rows), n+mostTest)]), nil
}

// waves is a regression with much noise: y = sin(2 x0) + x1 x2 + ½ x3 + 0.5 ε, x uniform on
// [−2,2]⁵, where y does not depend on x4.
func waves(string) (train, test *data.Set, err error) {
	const n, d = 1300, 5
	rng := newRand(wavesSeed)
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d : (i+1)*d]
		for j := range row {
			row[j] = 4*rng.Float64() - 2
		}
		y[i] = math.Sin(2*row[0]) + row[1]*row[2] + row[3]/2 + 0.5*rng.NormFloat64()
	}
	return divide(set(x, y, d), 300)
}

// clouds are three classes that overlap. Each class has two Gaussian clouds in six dimensions; the
// centres of the clouds are drawn from N(0, 1.2² I).
func clouds(string) (train, test *data.Set, err error) {
	const n, d, classes = 1400, 6, 3
	rng := newRand(cloudsSeed)
	centres := make([]float64, 2*classes*d)
	for i := range centres {
		centres[i] = 1.2 * rng.NormFloat64()
	}
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		cloud := rng.IntN(2 * classes)
		y[i] = float64(cloud % classes)
		for j := range d {
			x[i*d+j] = centres[cloud*d+j] + rng.NormFloat64()
		}
	}
	return divide(set(x, y, d), 400)
}

// set is a table of d columns x0, x1, … and the target y.
func set(x, y []float64, d int) *data.Set {
	s := &data.Set{Targets: []string{"y"}, X: dense.Of(x, len(y), d), Y: dense.Of(y, len(y), 1)}
	for j := range d {
		s.Features = append(s.Features, "x"+strconv.Itoa(j))
	}
	return s
}

// table returns the rows of a UCI table: n rows for training, and rows to judge by.
func table(name string, n int) func(shared string) (train, test *data.Set, err error) {
	return func(shared string) (train, test *data.Set, err error) {
		t, err := data.TableReader{X: "X", Y: "y"}.Read(filepath.Join(shared, "uci", name+".npz"))
		if err != nil {
			return nil, nil, err
		}
		all, err := t.Set()
		if err != nil {
			return nil, nil, err
		}
		return divide(all, n)
	}
}

// digits returns digits of MNIST in 8×8 pixels, n for training. A fraction of the training rows has
// a wrong label, drawn at random. The rows to judge by have the right labels.
func digits(n int, wrong float64) func(shared string) (train, test *data.Set, err error) {
	return func(shared string) (train, test *data.Set, err error) {
		all, err := mnist(shared)
		if err != nil {
			return nil, nil, err
		}
		train, test = small(all.Train, n), small(all.Test, mostTest)
		rng := newRand(labelSeed)
		for i, label := range train.Y.Float64s() {
			if rng.Float64() < wrong {
				train.Y.Float64s()[i] = float64((int(label) + 1 + rng.IntN(9)) % 10)
			}
		}
		return train, test, nil
	}
}

// mnist returns MNIST from the data folder shared. It reads the files once.
func mnist(shared string) (*image.Splits, error) {
	if s, ok := read.Load(shared); ok {
		return s.(*image.Splits), nil
	}
	s, err := idx.MNIST(filepath.Join(shared, "mnist"))
	if err == nil {
		read.Store(shared, s)
	}
	return s, err
}

// read has the digits that were read, by the data folder.
var read sync.Map

// small returns the first n digits, each pixel the mean of 4×4 of the image with a border
// of two, from 0 to 1.
func small(s *image.Set, n int) *data.Set {
	const side, block, border = 28, 4, 2
	x, y := make([]float64, n*64), make([]float64, n)
	for i := range n {
		pixels := s.Pixels[i*side*side:]
		for r := range side {
			for c := range side {
				at := (r+border)/block*8 + (c+border)/block
				x[i*64+at] += float64(pixels[r*side+c]) / (255 * block * block)
			}
		}
		y[i] = float64(s.Labels[i])
	}
	return &data.Set{Targets: []string{"digit"}, X: dense.Of(x, n, 64), Y: dense.Of(y, n, 1)}
}
