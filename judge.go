package valla

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/unseen"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/passes"
	"gorgonia.org/tensor"
)

const (
	// judging is the largest number of operations of forward passes at which a verdict uses
	// holdout.MostJudges rows. It allows 4 million operations for a row. For costlier networks a verdict uses
	// fewer rows, but at least leastShare of this number: a prediction of a ResNet-20, with 83 million
	// operations, takes 5 to 11 milliseconds. The standard error in the verdict at most doubles.
	judging, leastShare = 8e9, 0.25
)

// judgedShare returns the share of the usual number of rows by which a fit to a problem is examined.
func judgedShare(p gp.Problem) (float64, error) {
	flops, err := gp.ForwardFlops(p)
	return min(1, max(leastShare, judging/holdout.MostJudges/float64(max(flops, 1)))), err
}

// mostJudges returns how many rows examine a fit at most, for a share that judgedShare returns.
func mostJudges(share float64) int { return int(math.Ceil(share * holdout.MostJudges)) }

// division says what a fit does with its rows.
type division struct {
	train *data.Set // rows of the fit
	held  *data.Set // rows to validate with; nil: none
	judge *data.Set // rows of the verdict; nil: held if there are any, otherwise train
	given bool      // judge was given, and all its rows are used
	fresh bool      // the network was not trained on held

	// pseudo says that no rows are held out: pseudo-rows take their place, since the network
	// may have been trained on all rows.
	pseudo bool
	notes  []string // for the record of the fit
	order  []int    // numbers of the rows of held in the set from which they were taken; nil: held is in its own order
	law    string   // see FitOptions

	transformed bool // the targets have transforms; fitLaws sets it
}

// divide divides the rows of a set.
func (m *Model) divide(set *data.Set, o FitOptions) (division, error) {
	d := division{train: set, held: o.Held, judge: o.Judge, given: o.Judge != nil, fresh: true, law: o.Law}
	if o.Judge != nil {
		if err := m.Task.CheckSet(o.Judge); err != nil {
			return d, err
		}
	}
	if o.Held != nil {
		return d, m.Task.CheckSet(o.Held)
	}
	elsewhere := slices.ContainsFunc(m.History, func(e Event) bool { return e.Action == ActionWeights })
	if elsewhere && o.Validation == nil && m.hasPseudoRows() {
		d.pseudo = true
		return d, nil
	}
	fraction := 0.1
	if o.Validation != nil {
		fraction = *o.Validation
	}
	if elsewhere && fraction > 0 {
		d.notes = []string{"The weights came from elsewhere, so the network may have been trained on the rows held out; where it was, error bars chosen by them are too small."}
	}
	var err error
	if d.train, d.held, err = holdout.Split(set, fraction, o.Seed); err != nil || d.held == nil {
		return d, err
	}
	d.fresh = m.heldOut(d.train.N(), d.held.N(), o.Seed)
	halves := d.judge == nil && d.fresh && d.held.N() >= holdout.EnoughToSplit
	if halves {
		d.held, d.judge = holdout.Halves(d.held, o.Seed)
	}
	d.order, err = holdout.Positions(set.N(), fraction, o.Seed, halves)
	return d, err
}

// hasPseudoRows reports whether pseudo-rows of the inputs can be made: the inputs are vectors, or large enough
// images with classes. Between the numbers of two words lies another word, and the distance of numbers means nothing.
func (m *Model) hasPseudoRows() bool {
	s := m.Task.Inputs.Shape
	if slices.Contains(m.Task.Inputs.Whole, true) {
		return false
	}
	classes := likelihood.IsClass(m.Task.Likelihood())
	return len(s) == 1 || len(s) == 3 && classes && min(s[1], s[2]) >= unseen.LeastSide
}

// heldOut reports whether the network's training has held out the same rows.
func (m *Model) heldOut(train, held int, seed uint64) bool {
	trained := false
	for _, e := range m.History {
		if e.Action == ActionTrain {
			trained = true
			if e.Seed != seed || e.Rows != train || e.ValidationRows != held {
				return false
			}
		}
	}
	return trained
}

// jury has the rows of a verdict.
type jury struct {
	x    *tensor.Dense // inputs as the network takes them
	y    *tensor.Dense // targets in the units of the data
	seen bool          // the network or the fit may have used them

	passes *passes.Counter // over the rows; nil: nobody listens
}

// pass begins a pass over the rows. It returns the function to which the pass reports its finished rows.
func (j jury) pass() func(done, total int) { return j.passes.Pass(j.x.Shape()[0]) }

// jury returns the rows that judge a fit of m to the problem p with the record r: a share of holdout.MostJudges
// rows at most, unless the rows were given for the verdict.
func (d division) jury(m *Model, p gp.Problem, r gp.Record, share float64) (jury, error) {
	rows, j, most := d.judge, jury{}, mostJudges(share)
	switch {
	case d.judge != nil:
	case d.pseudo:
		e := p.Validation.Rows(dense.Spaced(p.Validation.N(), most))
		y, err := m.Task.TargetsOf(e)
		return jury{x: e.X, y: y, seen: true}, err
	case d.held != nil:
		rows, j.seen = d.held, !d.fresh || !r.Untouched
	default:
		rows, j.seen = d.train, true
	}
	if !d.given {
		rows = rows.Rows(dense.Spaced(rows.N(), most))
	}
	var err error
	j.x, err = m.Task.Inputs.Apply(rows.X, m.Dtype())
	j.y = rows.Y
	return j, err
}

// unseen reports whether the network has not seen the rows of the verdict, or whether these rows are
// pseudo-rows.
func (d division) unseen() bool { return d.judge != nil || d.pseudo || d.held != nil && d.fresh }

// leastAgreed is the share of pseudo-rows that a network must classify correctly. Where the share is smaller, the
// pseudo-rows do not look like rows: nothing may lie between two neighbours that could be a row, or a part of
// an image may not show what the image shows. Error bars chosen by such pseudo-rows are far too large. On
// images of digits, which are centred, a network classified 72 % of the parts correctly, and the parts made the
// error bars worse; on photographs networks classified 86 % and more.
const leastAgreed, leastAgreedImages = 0.7, 0.8

// memorised is the share of its own images that a network classifies correctly if it has memorised them. For a
// network that has not memorised its images, images held out of the fit are better judges than parts of images:
// a part is harder to classify than a whole image that the network has not seen.
const memorised = 0.99

// sensible reports whether the pseudo-rows of a problem can stand for rows that the network has not seen. In
// regression they always can.
func (m *Model) sensible(ctx context.Context, p gp.Problem) (bool, error) {
	if p.Train.X.Dims() == 2 {
		return m.agrees(ctx, *p.Validation, leastAgreed)
	}
	ok, err := m.agrees(ctx, *p.Validation, leastAgreedImages)
	if ok {
		ok, err = m.agrees(ctx, p.Train.Rows(dense.Spaced(p.Train.N(), holdout.MostJudges)), memorised)
	}
	return ok, err
}

// agrees reports whether the network classifies a share of the examples correctly. In regression it always
// does.
func (m *Model) agrees(ctx context.Context, e gp.Examples, share float64) (bool, error) {
	if !m.Task.Classifies() {
		return true, nil
	}
	f, err := m.outputs(ctx, e.X)
	if err != nil {
		return false, err
	}
	right, c := 0, m.Task.Size()
	for i, label := range e.Labels() {
		if row := f[i*c : (i+1)*c]; slices.Index(row, slices.Max(row)) == label {
			right++
		}
	}
	return float64(right) >= share*float64(e.N()), nil
}

// seenNote returns a note on how the fit was validated, since the network may have seen the rows.
func seenNote(p gp.Problem, found unseen.Found) string {
	pseudo := "points on the way from a row to its nearest neighbour"
	if p.Train.X.Dims() > 2 {
		pseudo = "parts of images, each made as large as the whole,"
	}
	note := fmt.Sprintf("The weights came from elsewhere, so the network may have been trained on these rows: %d %s validated the fit.", p.Validation.N(), pseudo)
	if found.Memorised() {
		note += fmt.Sprintf(" It has memorised them: it is off by %.3g on them, in units of the network. Its error on new rows was taken to be %.3g, the error of kernel regression.",
			found.Own, found.Honest)
	}
	return note
}
