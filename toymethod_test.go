package valla

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// The toy is a method for the tests of this package. It has the same variance everywhere: the mean square of the
// training targets times Factor.

type toySettings struct {
	Factor float64 `set:"factor" default:"0.5" above:"0" help:"variance in mean squares of the targets"`
}

type toyPosterior struct {
	point    gp.Point
	factor   float64
	variance *tensor.Dense // [1]
}

type toyHeader struct {
	Factor float64 `json:"factor"`
}

// toyCompiled are the predictions of the network alone, with a variance.
type toyCompiled struct {
	gp.Compiled
	variance float64
}

var toyMethod = gp.Method{
	Name: "toy", Title: "Toy", Summary: "The same variance everywhere.",
	New: func() gp.Settings { return &toySettings{} }, Restore: restoreToy,
}

func init() { method.Register(toyMethod) }

func (s *toySettings) Label() string { return "Toy" }

func (s *toySettings) Fit(_ context.Context, p gp.Problem, _ gp.Run) (*gp.Fitted, error) {
	c := *s
	if err := settings.Complete(&c); err != nil {
		return nil, err
	}
	sum := 0.0
	for _, y := range p.Train.Y.Float64s() {
		sum += y * y / float64(p.Train.N())
	}
	q := &toyPosterior{gp.Point{Net: p.Net, Dtype: p.Dtype()}, c.Factor, denseOf([]float64{c.Factor * sum}, 1)}
	return &gp.Fitted{Posterior: q, NoiseVariance: likelihood.NoiseVariance(p.Likelihood), Record: gp.Record{Rows: p.Train.N(), Settings: settings.Map(&c)}}, nil
}

func (q *toyPosterior) Compile(r gp.Request) (gp.Compiled, error) {
	r.Marginal = false
	c, err := q.point.Compile(r)
	return toyCompiled{c, q.variance.Float64s()[0]}, err
}

func (c toyCompiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := c.Compiled.Predict(ctx, x, g)
	for i, outputs := 0, g.Outputs(); i < len(g.Mean); i++ {
		g.Cov[i*outputs+i%outputs] = c.variance
	}
	return err
}

func (q *toyPosterior) String() string { return fmt.Sprintf("Toy %g", q.factor) }

func (q *toyPosterior) State() (gp.State, error) {
	return gp.State{Header: toyHeader{q.factor}, Arrays: []gp.Array{{Name: "toy.variance", Value: q.variance}}}, nil
}

func restoreToy(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h toyHeader
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	v, err := s.Array("toy.variance", tensor.Float64, 1)
	if err != nil {
		return nil, err
	}
	return &toyPosterior{gp.Point{Net: net, Dtype: net.Params()[0].Value.Dtype()}, h.Factor, v}, nil
}

// TestNewMethod: fits, files, predictions and scores have the registered toy.
func TestNewMethod(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(40, 1)
	f := fit(t, m, set, FitOptions{Settings: &toySettings{Factor: 2}, Validation: new(0.0)})
	p := predict(t, f, set.X)
	sum := 0.0
	for _, y := range set.Y.Float64s() {
		sum += (y - 10) * (y - 10) / 40
	}
	for _, v := range p.Latent {
		near(t, "variance", v, 2*sum, 1e-12)
	}
	comesBack(t, f, set.X)
	if e := f.History[1]; e.Method != "toy" || e.Label != "Toy 2" || e.Settings["factor"] != 2.0 || f.Posterior.Method != "toy" {
		t.Errorf("recorded %+v", e)
	}
	if d := fit(t, m, set, FitOptions{Settings: &toySettings{}}); d.String() != "Toy 0.5" {
		t.Errorf("with defaults: %v", d)
	}
	if _, err := f.Evaluate(t.Context(), set, PredictOptions{}); err != nil {
		t.Error(err)
	}
	_, err := m.Fit(t.Context(), set, FitOptions{Settings: &toySettings{Factor: -1}})
	if oneLine(t, err, "fit: ", "factor: expected a number above 0"); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
	checkDamage(t, f, []damage{
		{name: "array", edit: put("posterior/toy.variance.npy", encoded(t, denseOf([]float64{1, 2}, 2))), want: []string{"toy.variance"}},
		{name: "method", edit: replace(`"method": "toy"`, `"method": "toy2"`), want: []string{`method "toy2", expected one of valla, lla, `}},
		{name: "header", edit: replace(`"state": { "factor"`, `"state": { "colour": 1, "factor"`), want: []string{"unknown field"}},
	})
	if !slices.Contains(method.Names(), "toy") || !strings.Contains(fmt.Sprint(method.All()), "Toy") {
		t.Errorf("methods %q", method.Names())
	}
	_, err = m.Fit(t.Context(), set, FitOptions{Settings: &unknownSettings{}})
	oneLine(t, err, "fit: settings of type *valla.unknownSettings belong to no method of the table")
}

type unknownSettings struct{ toySettings }

func TestToyKeepsThePromisesOfPosteriors(t *testing.T) {
	f := fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(40, 1), FitOptions{Settings: &toySettings{}})
	gptest.Check(t, gptest.Case{Posterior: f.Posterior, X: wave(5, 2).X, Net: f.Net})
}
