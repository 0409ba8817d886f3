package experiments

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
)

// trustNetworks are how networks of the bench are trained: too short, until held-out rows are worse, and until the rows
// are memorised.
var trustNetworks = []struct {
	name     string
	hidden   []int
	training valla.Training
}{
	{"under", []int{20}, valla.Training{Iterations: 200}},
	{"well", []int{50, 50}, valla.Training{Iterations: 5000}},
	{"over", []int{50, 50}, valla.Training{Iterations: 5000, KeepLast: true, WeightDecay: new(0.)}},
}

// trustPair is what the bench measures for one network and table.
type trustPair struct {
	printed, printedError float64 // gain over the network alone in the verdict, and its standard error
	gain, gainError       float64 // the same gain on the test rows
	loss, lossError       float64 // NLL of the posterior minus that of the best scalar, on the test rows
	clear                 int     // sign of the gain where the verdict says something, or 0
}

// right reports whether a verdict that says something is right.
func (p trustPair) right() bool {
	return p.gain*float64(p.clear) > 0 || math.Abs(p.gain) <= valla.LeastDifference
}

// off is the standardised difference of the printed and the true gain.
func (p trustPair) off() float64 {
	return (p.printed - p.gain) / math.Hypot(math.Hypot(p.printedError, p.gainError), valla.LeastDifference)
}

// measureTrust trains a network, fits default VaLLA to it and compares both on the test rows.
func measureTrust(t *testing.T, l trustTable, network int, seed uint64) (p trustPair) {
	t.Helper()
	train, test := l.open(t, seed)
	how := trustNetworks[network]
	net, err := valla.Train(t.Context(), train, valla.TrainOptions{
		Network: valla.Network{Hidden: how.hidden}, Training: how.training, Seed: seed, Classes: l.classes > 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := net.Fit(t.Context(), train, valla.FitOptions{Run: gp.Run{Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	v, of := m.History[len(m.History)-1].Verdict, nlls(t, m, test)
	p.printed, p.printedError = v.MAPNLL-v.NLL, v.StandardError
	p.gain, p.gainError = kernel.MeanDifference(nlls(t, m.Alone(), test), of)
	switch {
	case v.Clearly():
		p.clear = 1
	case v.Worse():
		p.clear = -1
	}
	p.loss = math.Inf(-1)
	for _, rival := range scalars(t, net, train, seed) {
		if loss, by := kernel.MeanDifference(of, nlls(t, rival, test)); loss > p.loss {
			p.loss, p.lossError = loss, by
		}
	}
	return p
}

// scalars returns the network alone, with one noise or temperature, and with Student's t, by the rows held out.
func scalars(t *testing.T, net *valla.Model, train *data.Set, seed uint64) []*valla.Model {
	t.Helper()
	_, rows, err := holdout.Split(train, held, seed)
	if err != nil {
		t.Fatal(err)
	}
	hot, err := net.Calibrate(t.Context(), rows, valla.CalibrateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if net.NoiseStds() == nil {
		return []*valla.Model{net, hot}
	}
	p, err := net.Predict(t.Context(), rows.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var z []float64
	for i, y := range rows.Y.Float64s() {
		z = append(z, (y-p.Mean[i])/math.Sqrt(p.Variance[i]))
	}
	l, _, err := law.Fit(t.Context(), law.Residuals{Z: z}, law.Options{Family: law.StudentT, Own: law.OwnNever})
	if err != nil {
		t.Fatal(err)
	}
	heavy := *net
	heavy.Laws = []law.Law{l.Remembering()}
	return []*valla.Model{net, hot, &heavy}
}

// TestTrust compares default VaLLA with the best of the network alone, with one scalar and with Student's t on the test rows
// of pairs of network and table: it is better by .05 at least in the mean, and worse by more than .02 in at most 9 %.
// Verdicts that say something are right in 95 %, and half of the differences of printed and true gains are within the
// probable error. It prints the table in docs/honest.md. It needs minutes, and runs with VALLA_LONG.
// Each table is a test of its own: -run 'TestTrust/outliers' measures some.
func TestTrust(t *testing.T) {
	if !fixture.Long() {
		trustFew(t)
		return
	}
	var all []trustPair
	fmt.Println("| table | gain over the best scalar: under | well | over | verdicts right | of | off |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	for _, l := range trustTables() {
		t.Run(l.String(), func(t *testing.T) { all = append(all, trustLine(t, l)...) })
	}
	checkTrust(t, all)
}

// trustLine measures the pairs of a table and prints their line.
func trustLine(t *testing.T, l trustTable) (all []trustPair) {
	t.Helper()
	line := fmt.Sprintf("| %v |", l)
	for network := range trustNetworks {
		var pairs []trustPair
		for seed := range uint64(2) {
			p := measureTrust(t, l, network, seed)
			t.Logf("%v, %s, seed %d: %+v, off %.2f", l, trustNetworks[network].name, seed, p, p.off())
			pairs = append(pairs, p)
		}
		line += fmt.Sprintf(" %.3f |", -kernel.Mean([]float64{pairs[0].loss, pairs[1].loss}))
		all = append(all, pairs...)
	}
	right, say, off := verdicts(all)
	fmt.Printf("%s %d | %d | %.2f |\n", line, right, say, off)
	return all
}

// trustFew checks the mean loss of three small tables, with one network each.
func trustFew(t *testing.T) {
	loss, n := 0.0, 0.0
	for _, l := range trustTables() {
		if slices.Contains([]string{"few rows", "clouds", "parts"}, l.name) && l.rows <= 100 {
			p := measureTrust(t, l, 0, 0)
			t.Logf("%v: %+v", l, p)
			loss, n = loss+p.loss, n+1
		}
	}
	if loss/n > 0.02 {
		t.Errorf("default VaLLA is worse than the best scalar by %.3f in the mean over %g small tables", loss/n, n)
	}
}

// verdicts counts the verdicts that say something, and those that are right. off is the median magnitude of the standardised
// differences in units of that of a Gaussian: few rows do not show how far out a row may lie, so that the root of their mean
// square hangs on single pairs.
func verdicts(all []trustPair) (right, say int, off float64) {
	var sizes []float64
	for _, p := range all {
		if sizes = append(sizes, math.Abs(p.off())/0.6745); p.clear != 0 {
			if say++; p.right() {
				right++
			}
		}
	}
	slices.Sort(sizes)
	return right, say, sizes[len(sizes)/2]
}

// checkTrust prints and checks the sums of all pairs.
func checkTrust(t *testing.T, all []trustPair) {
	worse, worst, loss := 0, math.Inf(-1), 0.0
	for _, p := range all {
		if worst, loss = max(worst, p.loss), loss+p.loss/float64(len(all)); p.loss > 0.02 {
			worse++
		}
	}
	right, say, off := verdicts(all)
	fmt.Printf("%d pairs: gain over the best scalar %.4f, worse by more than .02 in %d, by at most %.4f; %d of %d verdicts are right; off by %.2f\n",
		len(all), -loss, worse, worst, right, say, off)
	if float64(worse) > 0.09*float64(len(all)) || loss > -0.05 || float64(right) < 0.95*float64(say) || math.Abs(off-1) > 0.1 {
		t.Error("the bars do not hold what they promise")
	}
}
