package task

import (
	"fmt"
	"reflect"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// ModelledTargets returns the regression of a set's targets with the observation model of the settings s, which do not
// change. The settings start by all rows of set. Targets that are numbers are standardised by those numbers of the
// targets of rows that have the units of the target: bounds that are open do not count. Counts, labels and ordered
// classes stay as they are. A target that the model refuses is an error, which names its row in set.
func ModelledTargets(set, rows *data.Set, s likelihood.Settings) (*Regression, error) {
	own := reflect.New(reflect.TypeOf(s).Elem())
	own.Elem().Set(reflect.ValueOf(s).Elem())
	s = own.Interface().(likelihood.Settings)
	if err := settings.Check(s); err != nil {
		return nil, err
	}
	columns := set.Y.Shape()[1]
	l, err := s.Start(columns, graph.Floats(set.Y))
	if err != nil {
		return nil, err
	}
	if columns%l.Width() != 0 {
		return nil, settings.Errorf("%d columns of targets for the likelihood %v, expected %d for each target", columns, l, l.Width())
	}
	r := &Regression{Names: set.Targets, NoiseVariance: likelihood.NoiseVariance(l)}
	if r.Model, err = likelihood.NewSpec(l, s); err != nil {
		return nil, err
	}
	if err := r.checkModel(); err != nil {
		return nil, err
	}
	if err := r.refuse(set.Y); err != nil || l.Kind() != likelihood.Number {
		return r, err
	}
	return r, r.standardize(rows)
}

// Observed returns a regression with the observation model of the settings s in place of Gaussian noise of one
// variance, with which the network was trained. Targets keep their scale, so that the outputs of the network keep their
// meaning: s must describe one real number for each target around the function. The parameters start by all rows of set,
// and the scale of the noise by the noise of r.
func (r *Regression) Observed(set *data.Set, s likelihood.Settings) (*Regression, error) {
	r = r.Trained()
	if r.Model != nil {
		return nil, settings.Errorf("a likelihood for a network that was trained with the likelihood %v, expected one with Gaussian noise", r.model())
	}
	out, err := ModelledTargets(set, set, s)
	if err != nil {
		return nil, err
	}
	if l := out.model(); l.Kind() != likelihood.Number || l.Width() != 1 || !likelihood.Noisy(l) {
		return nil, settings.Errorf("the likelihood %v for a network of the squared error, expected noise around a real number", l)
	}
	own := *r
	own.Model, own.Inside = out.Model, true
	return &own, nil
}

// Trained returns the regression with which the network was trained: r, or, where a fit has Observed targets in another way,
// r with Gaussian noise.
func (r *Regression) Trained() *Regression {
	if !r.Inside {
		return r
	}
	own := *r
	own.Model, own.Inside = nil, false
	return &own
}

// refuse returns an error that names a target of y [N·T·W] that the observation model does not take, in the units of
// the data.
func (r *Regression) refuse(y *tensor.Dense) error {
	if r.Model == nil {
		return nil
	}
	l, w, values := r.model(), r.width(), graph.Floats(y)
	for i := 0; i < len(values); i += w {
		if err := l.Check(values[i : i+w]); err != nil {
			return r.badTarget(i, err)
		}
	}
	return nil
}

// takes returns an error unless targets y have the right shape and the observation model takes them.
func (r *Regression) takes(y *tensor.Dense) error {
	if err := r.checkTargets(y); err != nil {
		return err
	}
	return r.refuse(y)
}

// badTarget returns an error about number i of targets [N,T·W].
func (r *Regression) badTarget(i int, err error) error {
	columns := len(r.Names)
	return &TargetError{Row: i / columns, Column: r.Names[i%columns], Err: err}
}

// standardize sets the scale of each target by the rows of a set.
func (r *Regression) standardize(set *data.Set) error {
	r.Mean, r.Std = nil, nil
	for t, v := range r.numbers(set) {
		for i, y := range v {
			v[i] = r.transform(t, y)
		}
		if i, bad := kernel.FirstNonFinite(v); i >= 0 {
			return fmt.Errorf("target %q: %g, expected a finite number", r.labels()[t], bad)
		}
		scale, err := data.FitStandardizer(tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v)))
		if err != nil {
			return fmt.Errorf("target %q: %w", r.labels()[t], err)
		}
		r.Mean, r.Std = append(r.Mean, scale.Mean...), append(r.Std, scale.Std...)
	}
	return nil
}

// LikelihoodLoss is the mean over a mini-batch of −log p(y | f) by the observation model l, which the training of a
// network minimises.
func LikelihoodLoss(l likelihood.Likelihood) func(b *graph.Builder, y, f *graph.Node) *graph.Node {
	return func(b *graph.Builder, y, f *graph.Node) *graph.Node {
		sum := b.Sum(l.LogDensityNode(b, y, f))
		if b.Err() != nil {
			return nil
		}
		return b.Scale(sum, -1/float64(f.Shape()[0]))
	}
}
