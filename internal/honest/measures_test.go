package honest

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/unseen"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
)

// Score is the mean negative log predictive density of targets, in the units of the
// network, with its standard error.
type Score struct {
	NLL, Error float64 // mean and standard error, in nats
}

// Case is a network with everything that it is measured on.
type Case struct {
	Network
	Model *valla.Model // the network as a user has it
	Train *data.Set    // the rows that the network was trained on
	Test  gp.Examples  // as the network takes them; no criterion but the best possible sees them
}

// Open returns a network with its weights from a folder and its rows.
func (n Network) Open(ctx context.Context, folder, shared string) (*Case, error) {
	train, test, err := n.Rows(shared)
	if err != nil {
		return nil, err
	}
	c := &Case{Network: n, Train: train}
	if c.Model, err = n.Model(ctx, folder, train); err != nil {
		return nil, err
	}
	c.Test, err = c.Model.Task.Examples(test, c.Model.Dtype())
	return c, err
}

// Criterion is where the hyper-parameters of a fit come from.
type Criterion string

// Criteria.
const (
	HeldOut  Criterion = "held out"      // a tenth of the rows, which the network has seen
	Evidence Criterion = "evidence"      // the marginal likelihood; of LLA
	LeaveOut Criterion = "leave one out" // the predictive of the linearized model without each row; of LLA
	Between  Criterion = "between"       // pseudo-rows with the row's own target
	Pseudo   Criterion = "pseudo-rows"   // the pseudo-rows of gp/unseen: the default
	Best     Criterion = "test rows"     // a bound for the other criteria
)

// Method is a method that the tables compare.
type Method string

// Methods.
const (
	VaLLA Method = "VaLLA"
	KFAC  Method = "LLA KFAC"
	Full  Method = "LLA full"
)

// Criteria returns the criteria that m knows.
func (m Method) Criteria() []Criterion {
	if m == VaLLA {
		return []Criterion{HeldOut, Between, Pseudo, Best}
	}
	return []Criterion{HeldOut, Evidence, LeaveOut, Between, Pseudo, Best}
}

// MAP is the score of the network without error bars.
func (c *Case) MAP(ctx context.Context) (Score, error) {
	g, err := gp.Predict(ctx, gp.Point{Net: c.Model.Net, Dtype: c.Model.Dtype()}, c.Test.X)
	return score(g, c.Model.Task.Likelihood(), c.Test), err
}

// Constant is the score with the one number that is best on the test rows: a noise variance
// for regression, a temperature for classification.
func (c *Case) Constant(ctx context.Context) (Score, error) {
	g, err := gp.Predict(ctx, gp.Point{Net: c.Model.Net, Dtype: c.Model.Dtype()}, c.Test.X)
	if err != nil {
		return Score{}, err
	}
	best := Score{NLL: math.Inf(1)}
	mean := append([]float64(nil), g.Mean...)
	for _, v := range gp.LogSpaced(0.01, 100, 400) {
		l := c.Model.Task.Likelihood()
		if c.Classes {
			for i := range mean {
				g.Mean[i] = mean[i] / v
			}
		} else {
			l = likelihood.WithNoise(l, v*v).Copy(c.Model.Dtype())
		}
		if s := score(g, l, c.Test); s.NLL < best.NLL {
			best = s
		}
	}
	return best, nil
}

// Fit is the score of a method whose hyper-parameters are chosen by a criterion.
func (c *Case) Fit(ctx context.Context, m Method, by Criterion) (Score, error) {
	p, err := c.problem(ctx, by)
	if err != nil {
		return Score{}, err
	}
	if by == LeaveOut {
		return c.leaveOut(ctx, p, m)
	}
	s := gp.Settings(&gpvalla.Settings{Inducing: 50, Iterations: 300})
	if m != VaLLA {
		s = c.lla(m, by)
	}
	fitted, err := s.Fit(ctx, p, gp.Run{Seed: 1})
	if err != nil {
		return Score{}, fmt.Errorf("%s, %s by %s: %w", c.Name, m, by, err)
	}
	return c.score(ctx, fitted.Posterior, fitted.NoiseVariance)
}

// Default is the score of a fit by [valla.Model.Fit] with options as a user gives them, who
// has the weights and the rows that they were trained on.
func (c *Case) Default(ctx context.Context, s gp.Settings) (Score, *valla.Model, error) {
	m, err := c.Model.Fit(ctx, c.Train, valla.FitOptions{Settings: s, Run: gp.Run{Seed: 1}})
	if err != nil {
		return Score{}, nil, err
	}
	found, err := c.score(ctx, m.Posterior, m.NoiseVariance())
	return found, m, err
}

// lla returns the settings of LLA.
func (c *Case) lla(m Method, by Criterion) *laplace.Settings {
	s := &laplace.Settings{Structure: "full", Hyper: "grid"}
	if m == KFAC {
		s.Structure = "kfac"
	}
	if by == Evidence {
		s.Hyper = "marglik"
	}
	return s
}

// score returns the score of a posterior on the test rows.
func (c *Case) score(ctx context.Context, p gp.Posterior, noiseVariance float64) (Score, error) {
	g, err := gp.Predict(ctx, p, c.Test.X)
	l := likelihood.WithNoise(c.Model.Task.Likelihood(), noiseVariance).Copy(c.Model.Dtype())
	return score(g, l, c.Test), err
}

// problem returns the problem of a criterion, with the validation examples of the criterion.
func (c *Case) problem(ctx context.Context, by Criterion) (gp.Problem, error) {
	o := valla.FitOptions{Validation: new(0.0), Run: gp.Run{Seed: 1}}
	switch by {
	case HeldOut:
		o.Validation = new(0.1)
	case Pseudo:
		o.Validation = nil
	}
	p, err := c.Model.Problem(ctx, c.Train, o)
	if err != nil {
		return p, err
	}
	switch by {
	case Best:
		p.Validation = &c.Test
	case Between:
		e, err := unseen.Between(ctx, p, o.Seed)
		if err != nil {
			return p, err
		}
		p.Validation = &e
	default:
		return p, nil
	}
	err = c.noiseFrom(ctx, &p)
	return p, err
}

// noiseFrom lets the noise of a regression start from the residuals on the validation rows, so that
// the grid of a criterion that knows better than the training rows is around the right one.
func (c *Case) noiseFrom(ctx context.Context, p *gp.Problem) error {
	if c.Classes {
		return nil
	}
	g, err := gp.Point{Net: p.Net, Dtype: p.Dtype()}.Mean(ctx, p.Validation.X)
	if err != nil {
		return err
	}
	sum, y := 0.0, graph.Floats(p.Validation.Y)
	for i, f := range g.Float64s() {
		sum += (y[i] - f) * (y[i] - f)
	}
	p.Likelihood = likelihood.WithNoise(p.Likelihood, sum/float64(len(y))).Copy(c.Model.Dtype())
	return nil
}

// score returns the mean over examples, with its standard error.
func score(g gp.Gaussian, l likelihood.Likelihood, e gp.Examples) Score {
	if g.Mean == nil {
		return Score{}
	}
	n, c, w := e.N(), g.Outputs(), e.Y.Shape()[1]
	y, mean, cov := graph.Floats(e.Y), g.Mean, g.Cov
	sum, squares := 0.0, 0.0
	for i := range n {
		v := -l.LogPredictive(y[i*w:(i+1)*w], mean[i*c:(i+1)*c], cov[i*c*c:(i+1)*c*c])
		sum, squares = sum+v, squares+v*v
	}
	m := sum / float64(n)
	return Score{m, math.Sqrt(max(0, squares/float64(n)-m*m) / float64(n))}
}
