package sngp

import (
	"context"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

const (
	nameFeatures = "sngp.features"
	nameAverage  = "sngp.average"
)

// averaging is the objective of a step that also moves the average of φᵀφ. The average is in
// float64, whatever the network is in: where features are nearly linear its least eigenvalues are
// below the rounding of float32.
type averaging struct {
	*train.Graph               // the step itself
	keep         float64       // share of the average that stays
	features     *tensor.Dense // φ of the last mini-batch, [B,m]
	average      *tensor.Dense // its lower triangle counts, [m,m]
	phi          []float64     // workspace
}

// newAverage starts the average from s I.
func newAverage(m int, s float64) *tensor.Dense {
	a := make([]float64, m*m)
	for i := range m {
		a[i*m+i] = s
	}
	return dense.Of(a, m, m)
}

// averagingBytes is the memory of an average with its workspace: its values, the best ones and
// what a checkpoint holds.
func (f *fitting) averagingBytes() int64 {
	if f.average == nil {
		return 0
	}
	m := int64(f.s.Features)
	return 8 * m * (5*m + int64(f.s.BatchSize))
}

// State implements train.Stateful: the average is part of it.
func (a *averaging) State() train.ObjectiveState {
	s := a.Graph.State()
	s.Arrays = append(slices.Clip(s.Arrays), train.Array{Name: nameAverage, Value: a.average})
	return s
}

// Evaluate implements train.Objective.
func (a *averaging) Evaluate(ctx context.Context, iteration int) (float64, error) {
	loss, err := a.Graph.Evaluate(ctx, iteration)
	if err != nil {
		return 0, err
	}
	n, m := a.features.Shape()[0], a.features.Shape()[1]
	a.phi = dense.AppendRows(a.phi[:0], a.features, n)
	kernel.Syrk(true, m, n, (1-a.keep)/float64(n), a.phi, m, a.keep, a.average.Float64s(), m)
	return loss, nil
}
