package metric

import (
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// tol is the agreement asked of formulas evaluated in float64 on both sides.
const tol = 1e-9

func values(t *testing.T, a fixture.Arrays, key string) []float64 {
	t.Helper()
	v, _ := a.F64(t, key)
	return v
}

func TestRegressionFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	mu, variance, y := values(t, a, "mu"), values(t, a, "var"), values(t, a, "y")
	s := regressionOf(t, mu, variance, y)
	each := make([]float64, len(y))
	for i := range y {
		each[i] = GaussianCRPS(mu[i], variance[i], y[i])
	}
	fixture.Close(t, "nll", []float64{s.NLL}, values(t, a, "nll"), tol)
	fixture.Close(t, "rmse", []float64{s.RMSE}, values(t, a, "rmse"), tol)
	fixture.Close(t, "crps_each", each, values(t, a, "crps_each"), tol)
	fixture.Close(t, "crps", []float64{s.CRPS}, values(t, a, "crps"), tol)
	fixture.Close(t, "coverage", s.Coverage[:], values(t, a, "coverage"), tol)
	fixture.Close(t, "cqm", []float64{s.CQM}, values(t, a, "cqm"), tol)
	fixture.Close(t, "cqm_published", []float64{s.CQMAsPublished}, values(t, a, "cqm_published"), tol)
}

func TestClassificationFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	probs := values(t, a, "probs")
	var labels []int
	for _, l := range a.Dense(t, "labels").Int64s() {
		labels = append(labels, int(l))
	}
	s := classificationOf(t, 0, probs, labels)
	fixture.Close(t, "cls_nll", []float64{s.NLL}, values(t, a, "cls_nll"), tol)
	fixture.Close(t, "acc", []float64{s.ACC}, values(t, a, "acc"), tol)
	fixture.Close(t, "brier", []float64{s.Brier}, values(t, a, "brier"), tol)
	fixture.Close(t, "ece", []float64{s.ECE}, values(t, a, "ece"), tol)
	ten := classificationOf(t, 10, probs, labels)
	fixture.Close(t, "ece10", []float64{ten.ECE}, values(t, a, "ece10"), tol)
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
	fixture.Close(t, "entropy_in", in, values(t, a, "entropy_in"), tol)
	fixture.Close(t, "entropy_ood", out, values(t, a, "entropy_ood"), tol)
	auc, err := OODAUC(in, out)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "ood_auc", []float64{auc}, values(t, a, "ood_auc"), tol)
}

func TestAUCTiesFixture(t *testing.T) {
	a := fixture.Load(t, "metrics")
	var positive []bool
	for _, l := range values(t, a, "auc_tie_labels") {
		positive = append(positive, l == 1)
	}
	auc, err := AUC(values(t, a, "auc_tie_scores"), positive)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "auc_tie", []float64{auc}, values(t, a, "auc_tie"), tol)
}
