package valla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/corrected"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/gp/unseen"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// FitOptions say how [Model.Fit] makes a posterior. The zero value fits VaLLA.
type FitOptions struct {
	// Settings choose the method, see [method.All]: a pointer to the Settings of gp/valla, of
	// gp/laplace and so on. They are not changed. nil means VaLLA with its defaults.
	Settings gp.Settings
	// Validation is the fraction of the rows that is held out; nil means 0.1. With the same
	// seed, Fit and Train hold out the same rows. Held, if not nil, has the rows to validate
	// with instead. Where both are nil and the weights came from elsewhere, the network may have
	// seen all rows. If its inputs are vectors, or images with classes, the posterior is then
	// fitted to all rows and validated with pseudo-rows, which stand for rows that the network has not
	// seen, see package gp/unseen. A classifier has to classify at least 70 % of the pseudo-rows
	// correctly; an image classifier has to classify 80 % of the pseudo-rows and 99 % of the images
	// themselves correctly. Otherwise a fraction is held out after all.
	Validation *float64
	Held       *data.Set // rows to validate with instead of a fraction; nil means none
	// Judge are rows for the [Verdict] alone, which neither the network nor the fit has used. With nil, rows held
	// out judge. If the training of the network has held out the same rows, and these are 1,000 rows or more, one
	// half judges and the other half chooses the prior standard deviation. Otherwise all rows held out do both. If
	// no rows are held out, training rows judge. Of rows that are not given here 2,000 judge at most; for a network with slow predictions they
	// may be 500. The verdict says whether the fit has used its rows, or the network may have been trained on them.
	Judge *data.Set
	// Law is the law of the residuals of a regression with Gaussian noise: "gaussian" keeps the Gaussian,
	// "student-t" and "mixture" fit this law to held-out rows, and "" lets held-out rows choose, see law.Fit. Without
	// held-out rows and pseudo-rows the law is the Gaussian.
	Law string
	// Mean is "" or "network", where the mean of predictions is the network's output, or "corrected": SFR's own mean
	// takes its place where the squared error of held-out rows falls by more than its standard error, see gp/corrected.
	// A corrected mean is for numbers with Gaussian noise.
	Mean string
	// Untempered says that the posterior of a classifier gets no temperature, as in published tables. Otherwise rows that
	// the network has not seen and that choose the prior standard deviation choose a temperature, too.
	Untempered bool
	// Likelihood is the observation model that the fit takes in place of the Gaussian noise of a regression, such as
	// Student's t: the network stays as it is, and the fit learns the parameters of the observation model. nil means
	// the observation model with which the network was trained.
	Likelihood likelihood.Settings

	// More is the number of further rows: the set is a random sample of these and its own rows, see [data.Stream.Draw].
	// A fit by mini-batches (gp.Method.Batches) has all rows in its objective, and others only the rows of the set.
	More int

	// OnEstimate, if it is not nil, is called before the fit with the time and the memory of the fit and the verdict,
	// if the method can estimate them; see gp.Estimator. The memory is that of the process, with the data that it
	// holds already. It is right where garbage is collected before it is a quarter of the memory in use, as with
	// debug.SetGCPercent(25); with the default of the runtime there may be as much garbage as memory in use.
	OnEstimate func(gp.Estimate)
	// OnFeatures, if it is not nil, is called first if the model reads features, see [Model.MakeFeatures], with what the
	// features of the rows of the fit take.
	OnFeatures func(FeaturePlan)

	gp.Run
}

// Fit fits a posterior to a set and returns a model with it. It changes neither the weights nor
// m, and it does not use a posterior that m has. The set should be the set on which the network
// was trained. The last Event of the returned model's history holds the record of the fit, with
// notes on what looks wrong, and the [Verdict].
//
// If ctx ends early, Fit returns an error that wraps ctx's, together with the model of the best
// state so far if the method has one, or with the fitted model without a verdict. With any other error the model is nil, also if the
// posterior cannot predict the rows to which it was fitted.
func (m *Model) Fit(ctx context.Context, set *data.Set, o FitOptions) (out *Model, err error) {
	defer explain("fit", &err)
	s, how, err := o.method()
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkResume(o.Resume, o.Checkpoint), checkLaw(o.Law), checkMean(o.Mean)); err != nil {
		return nil, err
	}
	start := time.Now()
	if m, err = m.observed(set, o.Likelihood); err != nil {
		return nil, err
	}
	m, p, rows, err := m.prepared(ctx, s, how, set, o)
	defer func() { m.forget(out) }()
	if err != nil {
		return nil, err
	}
	fitted, runErr := m.fitTo(ctx, s, p, rows, o)
	if fitted == nil {
		if ctx.Err() != nil || errors.Is(runErr, ErrSetting) {
			return nil, runErr
		}
		return nil, m.explainExtreme(set, runErr)
	}
	if fitted.Record.Notes = m.notesOf(set, rows, fitted); o.More > 0 {
		fitted.Record.DrawnFrom = set.N() + o.More
	}
	runtime.GC() // the programs of the fit may be most of the memory it was given, and the verdict compiles its own
	e := Event{Method: how.Name, Seed: o.Seed, Seconds: time.Since(start).Seconds()}
	if runErr != nil {
		ctx = context.WithoutCancel(ctx) // the best state so far has a verdict
	}
	if out, err = m.adopt(ctx, fitted, e, p, rows); err != nil {
		return nil, err
	}
	return out, cmp.Or(runErr, ctx.Err())
}

// prepared returns the model for a fit, which may keep features until forget, with the problem of the fit and the division of the rows.
func (m *Model) prepared(ctx context.Context, s gp.Settings, how gp.Method, set *data.Set, o FitOptions) (_ *Model, p gp.Problem, rows division, err error) {
	if m, err = m.keeping(s, set, o.Run); err != nil {
		return m, p, rows, err
	}
	if p, rows, err = m.problem(ctx, set, o); err != nil {
		return m, p, rows, err
	}
	if p.More = o.More; p.More > 0 && !how.Batches {
		rows.notes = append(slices.Clone(rows.notes), sampleNote(p))
		p.More = 0
	}
	m, err = m.abridged(ctx, s, p, o.Run)
	return m, p, rows, err
}

// fitTo fits a method to a problem, or to features in place of its inputs.
func (m *Model) fitTo(ctx context.Context, s gp.Settings, p gp.Problem, rows division, o FitOptions) (*gp.Fitted, error) {
	p, cut, err := m.onFeatures(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if o.Mean == MeanCorrected {
		s = corrected.Of(s)
	}
	s = ensemble.Of(p.Net, s)
	if err := m.estimate(ctx, s, p, rows, o); err != nil {
		return nil, err
	}
	fitted, err := s.Fit(ctx, p, o.Run)
	if fitted != nil && err == nil && !rows.pseudo {
		fitted.Record.Notes = append(fitted.Record.Notes, correctable(ctx, s, p, o)...)
	}
	if fitted != nil && cut != nil {
		fitted.Posterior = cut.Fitted(fitted.Posterior, s.Label())
		if cut.Memory.Path() != "" || m.features.chosen != nil {
			fitted.Record.Notes = append(fitted.Record.Notes, featureNote(cut))
		}
	}
	return fitted, err
}

// sampleNote says that a fit takes the rows of a sample for all rows.
func sampleNote(p gp.Problem) string {
	return fmt.Sprintf("The posterior counts the %d rows of the sample alone, not all %d: valla fit --passes makes a posterior of lla, ella or valla from all rows, and fits by mini-batches count all rows.", p.Train.N(), p.All())
}

// notesOf returns the notes on the rows of a fit, and then the notes on the fit.
func (m *Model) notesOf(set *data.Set, rows division, f *gp.Fitted) []string {
	notes := append(slices.Clone(rows.notes), m.twinNotes()...)
	if far := m.extremeInput(set); far != "" {
		notes = append(notes, "Check "+far+".")
	}
	notes = append(notes, f.Record.Notes...)
	if own := gp.MeanOf(f.Posterior); own != "" {
		notes = append(notes, own)
	}
	return notes
}

// adopt returns the model with a fitted posterior in place of its own. It completes the event e of the fit,
// also by a verdict and notes where the division has rows for them.
func (m *Model) adopt(ctx context.Context, f *gp.Fitted, e Event, p gp.Problem, rows division) (*Model, error) {
	out := m.MAP()
	out.Task = m.Task // has the observation model of the fit
	if err := out.take(m.posterior(f, e.Method, p.Likelihood)); err != nil {
		return nil, err
	}
	if err := cmp.Or(out.fitLaws(ctx, p.Validation, rows), out.fitTemperature(ctx, p, &f.Record)); err != nil && ctx.Err() == nil {
		return nil, err
	}
	f.Record.Untouched = f.Record.Untouched && out.Laws == nil && out.Posterior.Temperature == 0
	e.Action, e.Label, e.Program, e.Record = ActionFit, f.Posterior.String(), Version(), recordable(f.Record)
	if rows.train != nil {
		if e.Marks = marksOf(rows.train); e.Inputs == nil && out.Profile() == nil {
			e.Inputs = rows.train.Profile()
		}
		unjudged := e
		if err := out.examine(ctx, &e, p, rows); err != nil && ctx.Err() == nil {
			return nil, err
		} else if err != nil {
			e = unjudged
			e.Notes = append(slices.Clone(e.Notes), "The fit was interrupted before its verdict.")
		}
	}
	out.History = append(out.History, e)
	return out, nil
}

// posterior returns the posterior of a fit by a method to a problem with the likelihood of. The parameters of this
// likelihood may be others than those of the network alone, see gp/unseen.
func (m *Model) posterior(f *gp.Fitted, method string, of likelihood.Likelihood) *Posterior {
	p := &Posterior{Stored: f.Posterior, Method: method, NoiseVariance: f.NoiseVariance}
	if r, ok := m.Task.Outputs.(*task.Regression); ok && r.Model != nil {
		if l := cmp.Or(f.Likelihood, of); len(l.Params()) > 0 {
			p.Model = r.Model.With(l)
		}
	}
	return p
}

// fitTemperature gives the posterior of a classifier the temperature that the held-out examples of a problem choose, if
// they may, and the record r this number.
func (m *Model) fitTemperature(ctx context.Context, p gp.Problem, r *gp.Record) error {
	if !p.Tempered || !m.Task.Classifies() {
		return nil
	}
	share, err := judgedShare(p)
	if err != nil {
		return err
	}
	e := p.Validation.Rows(dense.Spaced(p.Validation.N(), mostJudges(share)))
	mean, variance, err := m.logitsOf(ctx, e.X, func(int, int) {})
	if err != nil {
		return m.cannotPredict(err)
	}
	if i, _ := kernel.FirstNonFinite(slices.Concat(mean, variance)); i < 0 { // otherwise the verdict names the row
		t := calibrate.Cautious(mean, variance, e.Labels())
		m.Posterior.Temperature, r.Facts = t, append(r.Facts, gp.Fact{Name: "temperature", Value: t})
	}
	return nil
}

// examine completes the event of a fit by a verdict and by warnings. An error says that the model cannot
// predict.
func (m *Model) examine(ctx context.Context, e *Event, p gp.Problem, rows division) error {
	share, err := judgedShare(p)
	if err != nil {
		return err
	}
	if err = m.setSpreads(ctx, e, rows.train, share); err != nil {
		return m.cannotPredict(err)
	}
	jury, err := rows.jury(m, p, e.Record, share)
	if err != nil {
		return err
	}
	network, posterior, err := m.pronounce(ctx, e, p, rows, jury)
	if err != nil {
		return err
	}
	if network.Classes != nil && rows.unseen() && m.Posterior.Temperature == 0 {
		notes, err := m.timidWarning(network, jury.y)
		if err != nil {
			return err
		}
		e.Notes = append(e.Notes, notes...)
	}
	if n := posterior.Medians(); n > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("On %d of %d rows the transformed target has no mean that says where targets are, so that predictions have the median for the mean: law=gaussian, or the likelihood gaussian, has a mean.", n, posterior.N()))
	}
	notes, err := m.warnings(ctx, p.Train, posterior, jury)
	e.Notes = append(e.Notes, notes...)
	return err
}

// pronounce completes the event of a fit by a verdict, and returns the predictions of the network alone, for classes as it is,
// and of the posterior.
func (m *Model) pronounce(ctx context.Context, e *Event, p gp.Problem, rows division, jury jury) (network, posterior judged, err error) {
	if posterior, err = m.judged(ctx, jury); err != nil {
		return network, posterior, m.cannotPredict(err)
	}
	rivals, err := m.rivals(ctx, p.Validation, rows)
	if err != nil {
		return network, posterior, err
	}
	take, network, err := bestRival(ctx, rivals, jury)
	if err != nil {
		return network, posterior, err
	}
	if e.Verdict, err = m.judge(network, posterior, jury.y); err != nil {
		return network, posterior, fmt.Errorf("verdict: %w", err)
	}
	e.Verdict.MAPWith, e.MAPLaws, e.MAPTemperature = take.with, take.model.Laws, take.model.temperature()
	e.Verdict.Seen, e.Verdict.Pseudo = jury.seen, rows.pseudo && rows.judge == nil
	if jury.seen {
		e.Verdict.StandardError *= SeenError
	}
	e.Verdict.advise(e.Method, e.Settings)
	if network.Classes != nil && take.with != "" {
		network, err = m.MAP().judged(ctx, jury)
	}
	return network, posterior, err
}

// recordable returns a record that JSON can hold: facts that are not finite become notes.
func recordable(r gp.Record) gp.Record {
	facts := r.Facts
	r.Facts, r.Notes = nil, slices.Clone(r.Notes)
	for _, f := range facts {
		if f.Value-f.Value == 0 {
			r.Facts = append(r.Facts, f)
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("The %s is %g.", f.Name, f.Value))
		}
	}
	return r
}

// method returns a copy of the settings, which fits complete, and their method.
func (o FitOptions) method() (gp.Settings, gp.Method, error) {
	if o.Settings == nil {
		how, err := method.Lookup(method.Default)
		return how.New(), how, err
	}
	how, err := method.Of(o.Settings)
	if err != nil {
		return nil, how, err
	}
	s := how.New()
	if given := reflect.ValueOf(o.Settings); !given.IsNil() {
		reflect.ValueOf(s).Elem().Set(given.Elem())
	}
	return s, how, nil
}

// Problem returns the problem to which Fit fits a method: the network with the rows of a set,
// some of which are held out, or with pseudo-rows, see FitOptions. It returns ctx's error if
// ctx ends first.
func (m *Model) Problem(ctx context.Context, set *data.Set, o FitOptions) (gp.Problem, error) {
	m, err := m.observed(set, o.Likelihood)
	if err != nil {
		return gp.Problem{}, err
	}
	p, _, err := m.problem(ctx, set, o)
	return p, err
}

// problem returns what Problem returns, and the division of the rows.
func (m *Model) problem(ctx context.Context, set *data.Set, o FitOptions) (gp.Problem, division, error) {
	p := gp.Problem{Net: m.network(), Likelihood: m.Task.Likelihood()}
	if err := m.Task.CheckSet(set); err != nil {
		return p, division{}, err
	}
	d, err := m.divide(set, o)
	if err != nil {
		return p, d, err
	}
	if p.Train, err = m.Task.Examples(d.train, m.Dtype()); err != nil {
		return p, d, err
	}
	few := []int{0, p.Train.N() / 2, p.Train.N() - 1}
	if err := layers.Apart(p.Net, p.Train.Rows(few).X); err != nil {
		return p, d, err
	}
	if moved, err := m.augmented(d.train.X, o.Seed); err == nil {
		p.Augmented = moved
	}
	if d.pseudo {
		return m.pseudoProblem(ctx, set, o, p, d)
	}
	if d.held == nil {
		return p, d, nil
	}
	validation, err := m.Task.Examples(d.held, m.Dtype())
	p.Validation, p.Tempered = &validation, d.fresh && !o.Untempered
	return p, d, err
}

// pseudoProblem returns a problem whose validation examples are pseudo-rows. Where the network does not
// classify enough pseudo-rows correctly, some of the rows are held out after all.
func (m *Model) pseudoProblem(ctx context.Context, set *data.Set, o FitOptions, p gp.Problem, d division) (gp.Problem, division, error) {
	p, found, err := unseen.Problem(ctx, p, o.Seed)
	if errors.Is(err, gp.ErrProblem) && likelihood.Noisy(m.Task.Likelihood()) {
		return p, d, cmp.Or(checkVaried(set), err) // kernel regression finds no noise in a constant target
	}
	if err != nil {
		return p, d, err
	}
	ok, err := m.sensible(ctx, p)
	if err != nil {
		return p, d, err
	}
	if !ok {
		o.Validation = new(0.1)
		return m.problem(ctx, set, o)
	}
	d.notes = []string{seenNote(p, found)}
	return p, d, nil
}
