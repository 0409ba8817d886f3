package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The hashes of cells tell where their rows come from.
const (
	madeHash = "made"
	dataHash = "data"
)

// alone measures a piece of work that no experiment has. Where its data set is not there, rows are made.
func (f fit) alone(ctx context.Context, c *Command) error {
	if c.data != "" && !f.random {
		err := f.kept(ctx, c, c.data, dataHash)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(c.progress, "%s: rows are made: %v\n", f.name, err)
	}
	return f.kept(ctx, c, "", madeHash)
}

// kept measures a piece of work with the data sets in a folder and keeps its cell, which has a hash, unless it is there.
func (f fit) kept(ctx context.Context, c *Command, data, hash string) error {
	folder, err := result.Open(c.dir, fitsExperiment, f.name)
	if err != nil {
		return err
	}
	cell := &result.Cell{Experiment: fitsExperiment, Profile: f.name, ID: result.ID{Data: f.data, Method: f.method, Row: f.row, Seed: uint64(c.seed), Hash: hash}}
	if err := folder.Expect(result.Plan{Experiment: fitsExperiment, Profile: f.name, Data: []string{f.data}, Cells: []result.ID{cell.ID}}); err != nil || folder.Has(cell.ID) {
		return err
	}
	if err := f.own(ctx, data, cell); err != nil {
		return err
	}
	cell.Machine = result.ThisMachine(valla.Version())
	return folder.Write(cell)
}

// protein is a network of 11,201 weights.
var protein = layers.MLP{Inputs: 9, Hidden: []int{100, 100}, Outputs: 1, Activation: "tanh"}

// fullLaplace fits the exact linearized Laplace approximation of all weights, with given
// hyper-parameters, to random rows.
func fullLaplace(ctx context.Context, _ string, cell *result.Cell) error {
	const rows = 37_000
	m := maker{rand.New(rand.NewPCG(1, cell.Seed)), tensor.Float64}
	net, err := protein.New(m.dt, m.Rand)
	if err != nil {
		return err
	}
	x, y := m.normal(rows, protein.Inputs), m.normal(rows, 1)
	of := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: gp.Examples{X: x, Y: y}}
	set := &laplace.Settings{PriorStd: 1, NoiseStd: 1}
	needed, err := fitNeeds(set, of)
	if err != nil {
		return err
	}
	meter := result.StartMeter()
	p, err := set.Posterior(ctx, of, gp.Run{Memory: memoryLimit})
	if err != nil {
		return err
	}
	cell.Fit, cell.N = meter.Cost(), rows
	cell.Fit.Needed, cell.Facts.Note = needed, result.MadeNote
	cell.Facts.Found = map[string]result.Number{"log evidence": result.Number(p.(interface{ LogMarginalLikelihood() float64 }).LogMarginalLikelihood())}
	return nil
}

// pixels returns the images of CIFAR-10 as rows [n,d], those for validation included, or made ones without a folder.
func pixels(folder string, m maker) (v []float32, n, d int, note string, err error) {
	if folder == "" {
		v, n, d = m.clusters()
		return v, n, d, result.MadeNote, nil
	}
	set, err := sets.Lookup("cifar10")
	if err != nil {
		return nil, 0, 0, "", err
	}
	images, err := set.Images(folder)
	if err != nil {
		return nil, 0, 0, "", err
	}
	n, d = images.Train.N+images.Validation.N, images.Train.C*images.Train.H*images.Train.W
	v = make([]float32, 0, n*d)
	for _, part := range [][]uint8{images.Train.Pixels, images.Validation.Pixels} {
		for _, pixel := range part {
			v = append(v, float32(pixel)/255)
		}
	}
	return v, n, d, "", nil
}

// clusters draws rows [n,d] around centres, as many as CIFAR-10 has images for training.
func (m maker) clusters() (v []float32, n, d int) {
	const centres = 100
	n, d = 50_000, 3*32*32
	at := graph.Floats(m.normal(centres, d))
	v = make([]float32, n*d)
	for i := range n {
		near := at[m.IntN(centres)*d:]
		for j := range d {
			v[i*d+j] = float32(near[j]) + m.Float32()
		}
	}
	return v, n, d
}

// kMeans finds 100 centres of images. One pass takes a product of all rows and all centres.
func kMeans(_ context.Context, folder string, cell *result.Cell) error {
	const centres = 100
	v, n, d, note, err := pixels(folder, newMaker(tensor.Float32))
	if err != nil {
		return err
	}
	meter := result.StartMeter()
	centers, err := data.KMeans(tensor.New(tensor.WithShape(n, d), tensor.WithBacking(v)), centres, data.KMeansPlusPlus, rand.New(rand.NewPCG(1, cell.Seed)))
	if err != nil {
		return err
	}
	cell.Fit, cell.N, cell.Facts.Note = meter.Cost(), n, note
	cell.Fit.Needed = operations(2*n*d*centres, tensor.Float32)
	cell.Facts.Found = map[string]result.Number{"mean squared distance": result.Number(meanDistance(v, graph.Convert(centers, tensor.Float32).Float32s(), n, d))}
	return nil
}

// meanDistance returns the mean squared distance of rows [n,d] from the nearest of centres [k,d].
func meanDistance(rows, centers []float32, n, d int) float64 {
	sum, diff := 0.0, make([]float32, d)
	for i := range n {
		nearest := -1.0
		for c := 0; c < len(centers); c += d {
			if s := kernel.SquaredDistance(rows[i*d:(i+1)*d], centers[c:c+d], diff); nearest < 0 || s < nearest {
				nearest = s
			}
		}
		sum += nearest / float64(n)
	}
	return sum
}
