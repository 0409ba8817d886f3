package internal_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/figure"
)

// TestLikelihoodsPage: the part of docs/likelihoods.md between its marks is what the table of observation models says.
// With -update the test also draws the picture of the page.
func TestLikelihoodsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| name | | targets | log p(y given f) | when |\n|---|---|---|---|---|\n")
	for _, m := range likelihood.Models() {
		fmt.Fprintf(&b, "| `%s` | %s %s | %s | %s | %s |\n", m.Name, m.Title+".", bars(m.Summary), bars(m.Targets), bars(m.Formula), bars(m.Use))
	}
	checkPart(t, "../docs/likelihoods.md", "likelihoods", b.String()+"\n")
	charts := densityCharts(t)
	if *update {
		if err := figure.SavePNG("../docs/likelihoods.png", charts...); err != nil {
			t.Fatal(err)
		}
	}
}

// densityCharts returns a chart for each model with one number as target: the predictive density at two latent values.
func densityCharts(t *testing.T) (charts []figure.Chart) {
	t.Helper()
	const points = 200
	classes := []float64{0, 1, 2, 3} // targets from which the ordinal model has its classes
	last := map[likelihood.Kind]int{likelihood.Binary: 1, likelihood.Ordered: 3, likelihood.Count: 14, likelihood.Number: points - 1}
	for _, m := range likelihood.Models() {
		l, err := m.New().Start(1, classes)
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		if l.Width() != 1 || l.Kind() == likelihood.Class {
			continue
		}
		var curves []figure.Series
		for _, f := range []float64{0, 1.5} {
			d := l.Predict(0, f, 0.1)
			s := figure.Series{Name: fmt.Sprintf("latent mean %g", f)}
			total := 0.0
			for i := range last[l.Kind()] + 1 {
				x, step := -6+12*float64(i)/points, 12.0/points
				if l.Kind() != likelihood.Number {
					x, step = float64(i), 1
				}
				density := math.Exp(d.LogDensity(x))
				total += density * step
				if l.Kind() != likelihood.Number {
					s.X, s.Y = append(s.X, x-0.5), append(s.Y, density) // the left end of a step
					x += 0.5
				}
				s.X, s.Y = append(s.X, x), append(s.Y, density)
			}
			if !(math.Abs(total-1) < 0.05) {
				t.Errorf("%s: the densities at latent mean %g sum to %g", m.Name, f, total)
			}
			curves = append(curves, s)
		}
		charts = append(charts, figure.Curves(figure.Axes{Title: m.Name, X: "y", Y: "density", Zero: true}, curves))
	}
	return charts
}
