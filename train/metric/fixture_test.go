package metric

import (
	"math"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// tol is the agreement asked of formulas evaluated in float64 on both sides.
const tol = 1e-9

func TestRegressionFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	mu, variance, y := a.Floats(t, "mu"), a.Floats(t, "var"), a.Floats(t, "y")
	s := regressionOf(t, mu, variance, y)
	each := make([]float64, len(y))
	for i := range y {
		each[i] = GaussianCRPS(mu[i], variance[i], y[i])
	}
	fixture.Close(t, "nll", []float64{s.NLL}, a.Floats(t, "nll"), tol)
	fixture.Close(t, "rmse", []float64{s.RMSE}, a.Floats(t, "rmse"), tol)
	fixture.Close(t, "crps_each", each, a.Floats(t, "crps_each"), tol)
	fixture.Close(t, "crps", []float64{s.CRPS}, a.Floats(t, "crps"), tol)
	fixture.Close(t, "coverage", s.Coverage[:], a.Floats(t, "coverage"), tol)
	fixture.Close(t, "cqm", []float64{s.CQM}, a.Floats(t, "cqm"), tol)
	fixture.Close(t, "cqm_published", []float64{s.CQM + 0.05}, a.Floats(t, "cqm_published"), tol)
}

func TestClassificationFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	probs := a.Floats(t, "probs")
	labels := a.Ints(t, "labels")
	s := classificationOf(t, probs, labels)
	fixture.Close(t, "cls_nll", []float64{s.NLL}, a.Floats(t, "cls_nll"), tol)
	fixture.Close(t, "acc", []float64{s.ACC}, a.Floats(t, "acc"), tol)
	fixture.Close(t, "brier", []float64{s.Brier}, a.Floats(t, "brier"), tol)
	fixture.Close(t, "ece", []float64{s.ECE}, a.Floats(t, "ece"), tol)
	classes, ten := len(probs)/len(labels), 0.0
	top, right := make([]float64, len(labels)), make([]bool, len(labels))
	for i, label := range labels {
		best, p := argmax(probs[i*classes : (i+1)*classes])
		top[i], right[i] = p, best == label
	}
	for _, b := range Reliability(top, right, 10) {
		ten += float64(b.N) / float64(len(labels)) * math.Abs(b.Accuracy-b.Confidence)
	}
	fixture.Close(t, "ece10", []float64{ten}, a.Floats(t, "ece10"), tol)
}

func TestOODFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	entropies := func(key string) []float64 {
		probs, shape := a.F64(t, key)
		h := make([]float64, shape[0])
		for i := range h {
			h[i] = Entropy(probs[i*shape[1] : (i+1)*shape[1]])
		}
		return h
	}
	in, out := entropies("probs"), entropies("ood_probs")
	fixture.Close(t, "entropy_in", in, a.Floats(t, "entropy_in"), tol)
	fixture.Close(t, "entropy_ood", out, a.Floats(t, "entropy_ood"), tol)
	auc, err := OODAUC(in, out)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "ood_auc", []float64{auc}, a.Floats(t, "ood_auc"), tol)
}

func TestAUCTiesFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	var positive []bool
	for _, l := range a.Floats(t, "auc_tie_labels") {
		positive = append(positive, l == 1)
	}
	auc, err := AUC(a.Floats(t, "auc_tie_scores"), positive)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "auc_tie", []float64{auc}, a.Floats(t, "auc_tie"), tol)
}
