package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/train"
)

// TestSeconds: durations have two or three digits and a unit.
func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "less than 0.1 s", 0.09: "less than 0.1 s", 0.1: "0.1 s", 3.14: "3.1 s", 9.94: "9.9 s", 10: "10 s", 119: "119 s", 150: "2.5 min", 7200: "120.0 min"} {
		if got := seconds(s); got != want {
			t.Errorf("%g s is written %q, expected %q", s, got, want)
		}
	}
}

// TestReason: the reason is one line without the names of the operations.
func TestReason(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ended, errors.New("any"), "interrupted"},
		{t.Context(), fmt.Errorf("fit: %w", context.DeadlineExceeded), "took more than the 2.0 s that it had of the budget"},
		{t.Context(), errors.New("fit: the kernel is singular"), "the kernel is singular"},
		{t.Context(), errors.New("predict: a\nb"), "a; b"},
	} {
		if got := reason(c.ctx, c.err, 2*time.Second); got != c.want {
			t.Errorf("%v: %q, expected %q", c.err, got, c.want)
		}
	}
}

// TestNames: every method is a contender, and so is each further form, behind its method.
func TestNames(t *testing.T) {
	names := Names()
	if !slices.Equal(names[:8], []string{"map", "temperature", "vector", "law", "conformal", "deep-ensemble", "mean-variance", "quantiles"}) {
		t.Errorf("names begin with %q", names[:8])
	}
	for _, name := range method.Names() {
		if !slices.Contains(names, name) {
			t.Errorf("the method %s is no contender", name)
		}
	}
	at := slices.Index(names, "lla")
	if !slices.Equal(names[at:at+3], []string{"lla", "lla-kfac", "lla-last-layer"}) {
		t.Errorf("forms of LLA: %q", names[at:at+3])
	}
}

// TestNewContender: a contender has the settings that its name stands for, a label, and a rank.
func TestNewContender(t *testing.T) {
	ranks := []int{}
	for _, name := range []string{"map", "temperature", "vector", "conformal", "lla"} {
		c, err := newContender(name)
		if err != nil || c.name != name || c.label == "" || (c.given == "") != (name == "map") {
			t.Fatalf("%s: %+v, error %v", name, c, err)
		}
		ranks = append(ranks, c.simpler)
	}
	if !slices.IsSorted(ranks) || ranks[0] == ranks[1] || ranks[3] >= fitted || ranks[4] != fitted {
		t.Errorf("ranks %v", ranks)
	}
	c, err := newContender("lla-last-layer")
	if s, ok := c.settings.(*laplace.Settings); err != nil || !ok || !slices.Equal(s.Weights, []string{"last-layer"}) || s.Structure != "" || c.given != "method=lla weights=last-layer" {
		t.Errorf("%+v with %+v, error %v", c, c.settings, err)
	}
	// Two contenders of a method do not share their settings.
	other, err := newContender("lla-kfac")
	if err != nil || other.settings.(*laplace.Settings).Weights != nil {
		t.Errorf("%+v, error %v", other.settings, err)
	}
}

// TestContenders: the network alone comes first and once, and a regression has no vector.
func TestContenders(t *testing.T) {
	m, _ := trained(t)
	list := func(methods ...string) (out []string) {
		c := contest{m: m, o: Options{Methods: methods}}
		all, err := c.contenders()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			out = append(out, one.name)
		}
		return out
	}
	if got := list("sfr", "map", "lla"); !slices.Equal(got, []string{"map", "sfr", "lla"}) {
		t.Errorf("contenders %q", got)
	}
	if got := list(); got[0] != "map" || slices.Contains(got, "vector") || len(got) != len(Names())-1 {
		t.Errorf("contenders of a regression: %q", got)
	}
}

// TestCheaper: a posterior is cheaper if its fit takes less than a quarter of the processor time and its prediction not more
// than four times as long.
func TestCheaper(t *testing.T) {
	slow := Result{FitCPU: 100, MicrosPerRow: 2}
	for _, c := range []struct {
		r    Result
		want bool
	}{
		{Result{FitCPU: 24, MicrosPerRow: 2}, true},
		{Result{FitCPU: 25, MicrosPerRow: 2}, false},
		{Result{FitCPU: 24, MicrosPerRow: 8}, false},
		{Result{FitCPU: 0, MicrosPerRow: 7.9}, true},
		{Result{FitCPU: 100, MicrosPerRow: .1}, false},
	} {
		if got := c.r.cheaper(slow); got != c.want {
			t.Errorf("%+v is cheaper: %t", c.r, got)
		}
	}
	if (Result{FitCPU: 0.001}).cheaper(Result{FitCPU: 3}) {
		t.Error("a second counts")
	}
}

// TestEnoughInside: the least number of rows inside of intervals that hold their level, from tables of the binomial distribution:
// with 8 rows P(X ≤ 5) = 0.0058 and P(X ≤ 6) = 0.0572, with 100 rows P(X ≤ 89) = 0.0115 and P(X ≤ 90) = 0.0282; many rows have
// the bound of two standard errors, within two rows.
func TestEnoughInside(t *testing.T) {
	for rows, least := range map[int]float64{1: 0, 2: 1, 8: 6, 100: 90} {
		if got := (&Comparison{Rows: rows, Level: 0.95}).enoughInside() * float64(rows); math.Abs(got+0.5-least) > 1e-9 {
			t.Errorf("%d rows: %g rows inside, expected half a row below %g", rows, got, least)
		}
	}
	got, gaussian := (&Comparison{Rows: 2000, Level: 0.95}).enoughInside(), 0.95-enough*math.Sqrt(0.95*0.05/2000)
	if math.Abs(got-gaussian) > 2.0/2000 {
		t.Errorf("2000 rows: %g, expected about %g", got, gaussian)
	}
}

// estimating is a method's settings with an estimate.
type estimating struct {
	gp.Settings
	seconds float64
	err     error
}

func (e *estimating) Estimate(context.Context, gp.Problem, gp.Run) (gp.Estimate, error) {
	return gp.Estimate{Seconds: e.seconds}, e.err
}

// TestEstimated: contenders without a fit come first, then methods by their estimates; a method without an estimate
// counts as its share of the budget, and a method whose estimate fails is left out.
func TestEstimated(t *testing.T) {
	m, set := trained(t)
	c, err := newContest(t.Context(), m, set, Options{Budget: 50 * time.Second, Folds: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := []contender{
		{name: "long", settings: &estimating{seconds: 30}}, {name: "unknown", settings: &laplaceOnly{}},
		{name: "map"}, {name: "short", settings: &estimating{seconds: 1}}, {name: "broken", settings: &estimating{err: errors.New("fit: no")}},
	}
	var names []string
	for _, one := range c.estimated(t.Context(), all) { // the share is 10 s
		names = append(names, one.name)
	}
	if !slices.Equal(names, []string{"map", "short", "unknown", "long"}) {
		t.Errorf("order %q", names)
	}
	if len(c.out.LeftOut) != 1 || c.out.LeftOut[0] != (LeftOut{Name: "broken", Reason: "no"}) {
		t.Errorf("left out: %+v", c.out.LeftOut)
	}
}

// laplaceOnly is a method's settings without an estimate.
type laplaceOnly struct{ gp.Settings }

// TestRound: a contender gets no try if nothing is left of the budget, or if it needs more than twice what is left.
func TestRound(t *testing.T) {
	m, set := trained(t)
	for want, one := range map[string]contender{
		"nothing was left of the budget":                     {name: "a"},
		"took more than the 1.0 s that it had of the budget": {name: "b", share: time.Second},
	} {
		c, err := newContest(t.Context(), m, set, Options{Folds: 1})
		if err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		if err := c.round(t.Context(), over, one, 1); err != nil || len(c.out.LeftOut) != 1 || c.out.LeftOut[0].Reason != want {
			t.Errorf("%+v, error %v", c.out.LeftOut, err)
		}
		cancel()
	}
	c, err := newContest(t.Context(), m, set, Options{Folds: 1})
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.round(t.Context(), limited, contender{name: "c", seconds: 60}, 1); err != nil || !strings.HasPrefix(c.out.LeftOut[0].Reason, "would take about 60 s, more than the") {
		t.Errorf("%+v, error %v", c.out.LeftOut, err)
	}
	// The network alone is no posterior: it takes no time of the budget, and it is in the results.
	alone, err := newContender(networkAlone)
	if err != nil {
		t.Fatal(err)
	}
	c.o.OnProgress = func(string, train.Progress) { t.Error("a fit was made") }
	if err := c.round(t.Context(), limited, alone, 1); err != nil || len(c.out.Results) != 1 || c.out.Results[0].FitSeconds != 0 || c.out.Results[0].Settings != "" {
		t.Errorf("%+v, error %v", c.out.Results, err)
	}
}
