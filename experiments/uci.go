package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/model"
)

// UCIOptions are the settings of [UCI].
type UCIOptions struct {
	Data       string   // the folder of the sets, one NAME.npz each
	Dir        string   // where the results go; made if it is missing
	Sets       []string // names
	Split      int      // which of the 20 test splits
	Inducing   int
	Iterations int // of each VaLLA fit
	Seed       uint64
	Progress   io.Writer
	// OnScore is called with each row as it is finished; nil means not.
	OnScore func(Score)
}

// UCIDefaults returns the settings of the table in the documentation.
func UCIDefaults() UCIOptions {
	return UCIOptions{
		Sets:     []string{"boston", "concrete", "energy", "kin8nm", "power", "yacht"},
		Inducing: 100, Iterations: 5000,
	}
}

// UCIResult is what [UCI] found.
type UCIResult struct {
	Split  int     `json:"split"`
	Scores []Score `json:"scores"`
}

// UCI compares MAP, exact LLA and VaLLA on small tables: a tanh network of two hidden
// layers of 50 on standardised data; LLA with the hyper-parameters that maximise its
// marginal likelihood; VaLLA with α = 1, which starts from those and learns its own.
func UCI(ctx context.Context, o UCIOptions) (*UCIResult, error) {
	res := &UCIResult{Split: o.Split}
	for _, name := range o.Sets {
		rows, err := o.run(ctx, name)
		if err != nil {
			return nil, err
		}
		res.Scores = append(res.Scores, rows...)
	}
	return res, writeResult(o.Dir, "uci", res, res.markdown())
}

func (o UCIOptions) run(ctx context.Context, name string) ([]Score, error) {
	set, test, err := data.UCI(filepath.Join(o.Data, name+".npz"), o.Split)
	if err != nil {
		return nil, err
	}
	opts := model.TrainDefaults()
	opts.Seed, opts.Progress = o.Seed, o.Progress
	r, err := trainMAP(ctx, name, set, opts)
	if err != nil {
		return nil, err
	}
	var rows []Score
	keep := func(s Score, err error) error {
		if err == nil {
			rows = append(rows, s)
			if o.OnScore != nil {
				o.OnScore(s)
			}
		}
		return err
	}
	if err := keep(r.scoreMAP(ctx, test)); err != nil {
		return nil, err
	}
	start := vallaOptions{inducing: o.Inducing, alpha: 1, iterations: o.Iterations, rate: 1e-2, prior: 1, noise: r.m.MAPNoise}
	switch lla, exact, err := r.lla(ctx); {
	case err == nil:
		if err := keep(r.score(ctx, lla, test)); err != nil {
			return nil, err
		}
		start.prior, start.noise = exact.PriorStd(), lla.noise
	case !errors.As(err, new(*laplace.MemoryError)):
		return nil, err
	}
	f, _, _, err := r.valla(ctx, start)
	if err != nil {
		return nil, err
	}
	return rows, keep(r.score(ctx, f, test))
}

// markdown is the report of the experiment.
func (r *UCIResult) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# UCI regression, split %d\n\n", r.Split)
	b.WriteString("NLL, RMSE and CRPS in the units of each target; the best of each column is starred.\n\n")
	b.WriteString(MarkdownScores(r.Scores))
	b.WriteString("\n")
	return b.String()
}
