package gp

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// maxCentred is the largest number of rows that k-means gets. More rows are sampled.
const maxCentred = 50_000

// KMeans returns first inducing points for a problem by k-means of its training inputs. An
// inducing point is a location, a row of z [M,…] in the problem's element type, and one
// output, an element of class [M].
//
// The m points are shared out equally among the C outputs, with at least one point for each. Of more than 100 outputs, such as
// the pixels of an image, m points below C lie on evenly spread outputs. Classes are such outputs if the kernel is coupled,
// so that a point tells of the classes without points, too; otherwise they would keep their prior variance.
// In classification, where outputs are classes, the points of a class are centres of the
// rows of that class. In regression the points of each output are centres of all rows. If
// there are fewer different inputs than points, M is smaller than m.
func KMeans(p Problem, m int, coupled bool, init data.KMeansInit, rng *rand.Rand) (z *tensor.Dense, class []int, err error) {
	if m < 1 {
		return nil, nil, fmt.Errorf("gp: %d inducing points, expected at least 1", m)
	}
	rows, c := groups(p), p.Outputs()
	var centres []float64
	for k := range c {
		own := pointsOf(p, m, k, coupled)
		if rows(k) == nil || own == 0 {
			continue // the training rows have none of this class
		}
		of, err := centred(p.Train.X, rows(k), own, init, rng)
		if err != nil {
			return nil, nil, fmt.Errorf("gp: inducing points of output %d: %w", k, err)
		}
		centres = append(centres, of.Float64s()...)
		class = append(class, slices.Repeat([]int{k}, of.Shape()[0])...)
	}
	shape := p.Train.X.Shape().Clone()
	shape[0] = len(class)
	return graph.Convert(dense.Of(centres, shape...), p.Dtype()), class, nil
}

// FewerPoints says why [KMeans] has found fewer points than it was asked for.
func FewerPoints(p Problem) string {
	if likelihood.IsClass(p.Likelihood) {
		return "a class has fewer different inputs than its share of the points"
	}
	return "there are no more different inputs"
}

// InducingPoints returns the largest number of points that [KMeans] returns for m points, and the output of each.
func InducingPoints(p Problem, m int, coupled bool) (class []int) {
	rows, c := groups(p), p.Outputs()
	for k := range c {
		class = append(class, slices.Repeat([]int{k}, min(len(rows(k)), pointsOf(p, m, k, coupled)))...)
	}
	return class
}

// pointsOf is the share of m points that output k has.
func pointsOf(p Problem, m, k int, coupled bool) int {
	const most = 100 // outputs with a point each, however few points there are
	c := p.Outputs()
	if c > max(m, most) && (coupled || !likelihood.IsClass(p.Likelihood)) {
		return (k+1)*m/c - k*m/c
	}
	return max(1, (m+c-1-k)/c)
}

// groups returns a function that gives, for an output, the numbers of the training rows whose
// centres are the points of that output.
func groups(p Problem) func(output int) []int {
	all := dense.Indices(p.Train.N())
	if !likelihood.IsClass(p.Likelihood) {
		return func(int) []int { return all }
	}
	of := make([][]int, p.Outputs())
	for i, k := range p.Train.Labels() {
		of[k] = append(of[k], i)
	}
	return func(k int) []int { return of[k] }
}

// centred returns m centres [m,D] of some rows of x [N,…]. If fewer rows are different it
// returns one centre for each of these.
func centred(x *tensor.Dense, rows []int, m int, init data.KMeansInit, rng *rand.Rand) (*tensor.Dense, error) {
	if n := len(rows); n > maxCentred {
		some := make([]int, maxCentred)
		for i, k := range rng.Perm(n)[:maxCentred] {
			some[i] = rows[k]
		}
		rows = some
	}
	part := data.TakeRows(x, rows)
	if err := part.Reshape(len(rows), part.Shape().TotalSize()/len(rows)); err != nil {
		return nil, err
	}
	return data.KMeans(part, data.Distinct(part, m), init, rng)
}

// SampleRows returns rows of x [N,…]. If x has more than most rows SampleRows draws most rows
// without repetition. Otherwise SampleRows returns all rows in their order.
func SampleRows(x *tensor.Dense, most int, rng *rand.Rand) *tensor.Dense {
	return data.TakeRows(x, sampleRows(x.Shape()[0], most, rng))
}

// sampleRows returns the numbers of the rows that [SampleRows] takes of n rows.
func sampleRows(n, most int, rng *rand.Rand) []int {
	if n > most {
		return rng.Perm(n)[:most]
	}
	return dense.Indices(n)
}
