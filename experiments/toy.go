package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/graph"
)

// stdError is the mean absolute difference of the latent standard deviations of two
// methods on a grid of raw inputs, as a fraction of the first one's mean.
func (r *regression) stdError(ctx context.Context, exact, approx fitted, grid []float64) (float64, error) {
	a, err := r.latentStd(ctx, exact, grid)
	if err != nil {
		return 0, err
	}
	b, err := r.latentStd(ctx, approx, grid)
	if err != nil {
		return 0, err
	}
	diff, sum := 0.0, 0.0
	for i := range a {
		diff += math.Abs(a[i] - b[i])
		sum += a[i]
	}
	return diff / sum, nil
}

// latentStd is the standard deviation of the function, without noise, standardised.
func (r *regression) latentStd(ctx context.Context, f fitted, grid []float64) ([]float64, error) {
	z, err := r.m.Inputs.Apply(column(grid))
	if err != nil {
		return nil, err
	}
	g, err := f.posterior.Predict(ctx, graph.Convert(z, r.m.Dtype()))
	if err != nil {
		return nil, err
	}
	std := graph.Floats(g.Cov)
	for i, v := range std {
		std[i] = math.Sqrt(max(v, 0))
	}
	return std, nil
}

// ToyOptions are the settings of [Toy].
type ToyOptions struct {
	Data       string // a table with the columns x and y, as in toy1d/data.csv
	Dir        string // where results and pictures go; made if it is missing
	Inducing   []int  // the numbers of inducing points to try
	Iterations int    // of each VaLLA fit
	Seed       uint64
	Progress   io.Writer
}

// ToyDefaults returns the settings of the paper's first figure.
func ToyDefaults() ToyOptions { return ToyOptions{Inducing: []int{5, 10, 20}, Iterations: 5000} }

// ToyRow is one fit of the toy experiment.
type ToyRow struct {
	Inducing int     `json:"inducing"`
	StdError float64 `json:"std_error"` // mean |difference| to LLA's std over the grid, over LLA's mean
	Seconds  float64 `json:"seconds"`
	Picture  string  `json:"picture"`
}

// ToyResult is what [Toy] found.
type ToyResult struct {
	PriorStd float64  `json:"prior_std"` // maximising LLA's marginal likelihood, standardised
	NoiseStd float64  `json:"noise_std"`
	Rows     []ToyRow `json:"rows"`
	Scores   []Score  `json:"scores"` // on the training data, of which there is no other part
}

// Toy compares VaLLA with exact LLA on the one-dimensional data of Izmailov et al.
// (2020): a tanh network of two hidden layers of 50, the hyper-parameters that
// maximise LLA's marginal likelihood, and VaLLA with those and the lower bound
// (α = 0), whose optimum is LLA as M grows (paper, Prop. 2).
func Toy(ctx context.Context, o ToyOptions) (*ToyResult, error) {
	table, err := data.ReadTable(o.Data)
	if err != nil {
		return nil, err
	}
	set, err := table.Set("y")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	opts := model.TrainDefaults()
	opts.Validation, opts.WeightDecay, opts.Seed, opts.Progress = 0, 0, o.Seed, o.Progress
	r, err := trainMAP(ctx, "toy1d", set, opts)
	if err != nil {
		return nil, err
	}
	lla, exact, err := r.lla(ctx)
	if err != nil {
		return nil, err
	}
	res := &ToyResult{PriorStd: exact.PriorStd(), NoiseStd: exact.NoiseStd()}
	fits := []fitted{lla}
	for _, m := range o.Inducing {
		f, layer, before, err := r.valla(ctx, vallaOptions{
			inducing: m, iterations: o.Iterations, rate: 2e-2, prior: exact.PriorStd(), noise: lla.noise, fixed: true,
		})
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("toy-m%d", m)
		_, stdErr, err := r.picture(ctx, filepath.Join(o.Dir, name), lla, f, before, layer.Z.Value)
		if err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, ToyRow{Inducing: m, StdError: stdErr, Seconds: f.took.Seconds(), Picture: name + ".png"})
		fits = append(fits, f)
	}
	if res.Scores, err = r.scores(ctx, set, fits...); err != nil {
		return nil, err
	}
	return res, writeResult(o.Dir, "toy", res, res.markdown())
}

// markdown is the report of the experiment.
func (r *ToyResult) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The one-dimensional toy: VaLLA against exact LLA\n\n")
	fmt.Fprintf(&b, "Hyper-parameters of exact LLA's marginal likelihood, standardised units: σ₀ = %.4g, σ = %.4g.\n\n", r.PriorStd, r.NoiseStd)
	b.WriteString("| M | mean difference of σ to LLA's, of LLA's mean σ | seconds |\n|--:|--:|--:|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %d | %.4f | %.1f |\n", row.Inducing, row.StdError, row.Seconds)
	}
	fmt.Fprintf(&b, "\nScores on the training data:\n\n%s\n", MarkdownScores(r.Scores))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n![MAP, exact LLA and VaLLA with M = %d](%s)\n", row.Inducing, row.Picture)
	}
	return b.String()
}
