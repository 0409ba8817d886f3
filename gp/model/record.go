package model

import (
	"runtime/debug"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/train"
)

// Methods of a [Run].
const (
	MethodMAP     = "map"     // the network was trained
	MethodWeights = "weights" // the network's weights came from a file
	MethodVaLLA   = "valla"   // a posterior of package gp/valla was fitted
	MethodLLA     = "lla"     // one of package gp/laplace
)

// Run records how a part of a model came about.
type Run struct {
	Method     string `json:"method"`
	Program    string `json:"program"` // version, see [Version]
	Rows       int    `json:"rows"`    // used for training
	Validation int    `json:"validation_rows"`
	Seed       uint64 `json:"seed"`

	BatchSize    int     `json:"batch_size,omitempty"`
	LearningRate float64 `json:"learning_rate,omitempty"`
	WeightDecay  float64 `json:"weight_decay,omitempty"`

	Optimizer Optimizer `json:"optimizer,omitempty"` // of VaLLA; absent: Adam
	Alpha     *float64  `json:"alpha,omitempty"`     // of VaLLA's objective
	Inducing  int       `json:"inducing,omitempty"`
	PriorStd  float64   `json:"prior_std,omitempty"` // σ₀ at the end, the first of several

	LLA *LLARun `json:"lla,omitempty"`

	Iterations     int           `json:"iterations"` // made
	BestIteration  int           `json:"best_iteration,omitempty"`
	BestValidation *float64      `json:"best_validation,omitempty"` // standardised units
	Stopped        train.Stopped `json:"stopped,omitempty"`
	Seconds        float64       `json:"seconds"`
}

// LLARun is what is special of a run of FitLLA.
type LLARun struct {
	Structure             laplace.Structure `json:"structure"`
	Weights               []string          `json:"weights"` // the uncertain ones
	Parameters            int               `json:"parameters"`
	Rank                  int               `json:"rank,omitempty"`
	Subset                int               `json:"subset,omitempty"`
	Hyper                 Hyper             `json:"hyper"`
	Priors                []string          `json:"priors"`
	PriorStds             []float64         `json:"prior_stds"`
	EffectiveParameters   float64           `json:"effective_parameters"`
	LogMarginalLikelihood float64           `json:"log_marginal_likelihood"`
}

// fitted reports whether the run gave a posterior.
func (r Run) fitted() bool { return r.Method == MethodVaLLA || r.Method == MethodLLA }

// ended fills in how the run went.
func (r Run) ended(res *train.Result) Run {
	r.Program = Version()
	r.Iterations, r.Stopped, r.Seconds = res.Iterations, res.Stopped, res.Seconds
	if len(res.History) > 0 {
		r.BestIteration, r.BestValidation = res.BestIteration, &res.BestValue
	}
	return r
}

const modulePath = "github.com/go-valla/valla"

// Version returns the version of this module in the running program, with the
// revision it was built from where that is known; "unknown" outside a module build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Path == modulePath {
		return mainVersion(info)
	}
	for _, d := range info.Deps {
		if d.Path == modulePath {
			return d.Version
		}
	}
	return "unknown"
}

// mainVersion is the version of the main module. Builds from a checkout are called
// (devel) or have a version derived from the revision.
func mainVersion(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version != "" && version != "(devel)" {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
