package serve

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// psiOf returns a number of the metrics.
func psiOf(t *testing.T, text, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(name) + ` (\S+)`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("the metrics lack %s", name)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOutcomesDriftOfOutputs: rows like the training leave the drift of the unfamiliarity and the predictions small, and rows that
// have moved raise both, of numbers and of classes; the page shows them.
func TestOutcomesDriftOfOutputs(t *testing.T) {
	r, _ := collecting(t)
	predict := func(kind string, set *data.Set, by float64) {
		var rows []string
		x := set.X.Float64s()
		for i := 0; i < len(x); i += 2 {
			rows = append(rows, fmt.Sprintf("[%g,%g]", x[i]+by, x[i+1]))
		}
		var answer any
		r.post("/models/"+kind+"/predict", "["+strings.Join(rows, ",")+"]", http.StatusOK, &answer)
	}
	names := map[string][]string{}
	for kind, target := range map[string]string{"numbers": "y", "classes": "kind"} {
		names[kind] = []string{fmt.Sprintf("valla_output_psi{model=%q,target=%q}", kind, target), fmt.Sprintf("valla_unfamiliar_psi{model=%q}", kind)}
		for seed := range uint64(8) {
			predict(kind, table(kind, 500, 40+seed), 0)
		}
	}
	even := r.metricsText()
	for kind, list := range names {
		for seed := range uint64(8) {
			predict(kind, table(kind, 500, 80+seed), 6)
		}
		text := r.metricsText()
		for _, name := range list {
			if before, after := psiOf(t, even, name), psiOf(t, text, name); before >= largeDrift || after <= largeDrift {

				t.Errorf("%s: %g for even rows and %g for rows that have moved", name, before, after)
			}
		}
	}
	_, page := r.send(http.MethodGet, "/outcomes", "", nil)
	for _, part := range []string{"Unfamiliarity, against the training", "Predictions of y, against the first 1000"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestOutcomesFewRows: by chance the drift of the unfamiliarity is near 9/n for even rows and n training rows.
func TestOutcomesFewRows(t *testing.T) {
	for _, n := range []int{120, 500} {
		set := table("numbers", n, 7)
		m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{8}}, Training: valla.Training{Iterations: 300}})
		if err == nil {
			m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(t.Context(), table("numbers", 5000, 100).X, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d := newDrift(familiarity(m.History[len(m.History)-1].Spreads))
		if psi := d.add(p.Unfamiliar); len(psi) != 1 || psi[0] > 3*9/float64(n) {
			t.Errorf("%d training rows: %g", n, psi)
		}
	}
}

// TestOutcomesFamiliarity: spreads that differ are even; spreads that are often equal, or not known, have no distribution to compare with.
func TestOutcomesFamiliarity(t *testing.T) {
	spreads := make([]float64, 101)
	for i := range spreads {
		spreads[i] = float64(i / 5)
	}
	if p := familiarity(spreads); len(p) != 1 || len(p[0].Edges) != 9 || p[0].Bin(0.1) != 0 || p[0].Bin(0.95) != 9 || p[0].Bin(1) != 9 {
		t.Errorf("%+v", p)
	}
	spreads[5] = 0
	if p := familiarity(spreads); p != nil {
		t.Errorf("equal spreads: %+v", p)
	}
	if p := familiarity(nil); p != nil {
		t.Errorf("no spreads: %+v", p)
	}
}
