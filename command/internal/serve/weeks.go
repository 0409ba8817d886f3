package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla/internal/audit"
)

var weeksTemplate = template.Must(template.ParseFS(web, "web/weeks.html"))

// weeks is what the page of the last weeks shows of a model.
type weeks struct {
	Name, Version  string       // name and version of the model
	Level          string       // level of the intervals in percent
	State          state        // present state
	Week           string       // coverage of the last seven days, with bounds
	Last           string       // coverage of the last 500 labels
	Charts         []weeksChart // coverage, width and drift by day
	Moved          []moved      // inputs that have moved most in the last seven days
	Predicted      []moved      // unfamiliarity and predictions of all predicted rows against rows before
	Rows, Needed   int          // labels of the last seven days, and how many a comparison with the training needs
	First, Present string       // first and last day of the charts
}

// moved is an input, or a part of the predictions, with its population stability index.
type moved struct {
	Name string  // what has moved
	PSI  float64 // index against the rows before
}

// weeksChart is a chart of the page, in the units of its view box.
type weeksChart struct {
	Title     string   // what it shows
	Bars      [][3]int // place, top and height of the bounds of days
	Dots      [][2]int // place and height of days
	Line      string   // points of the line between the dots
	Rule      int      // height of a line across; 0: none
	Low, High string   // numbers at the ends of the vertical axis
}

// size of a chart.
const (
	chartWidth, chartHeight = 640, 150
	mostMoved               = 5 // inputs in the list
)

// showWeeks answers with the page of the last weeks: of one model, or of all models that take labels.
func (s *Server) showWeeks(w http.ResponseWriter, r *http.Request) error {
	var all []weeks
	name := r.PathValue("model")
	if name != "" {
		if _, err := s.find(name); err != nil {
			return err
		}
	}
	for _, h := range s.models {
		v := h.acquire()
		if v == nil {
			continue
		}
		if v.outcomes != nil && (name == "" || name == h.name) {
			w := v.outcomes.weeks()
			w.Predicted = v.predictedDrift()
			all = append(all, w)
		}
		v.release()
	}
	if len(all) == 0 {
		return &refusal{http.StatusNotFound, "no model takes outcomes: they need valla serve --outcomes FOLDER and a model of one number"}
	}
	var page bytes.Buffer
	if err := weeksTemplate.Execute(&page, all); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(page.Bytes())
	return nil
}

// forBrowsers passes a token on that a browser sends as the password of a dialogue, which it shows if a token is missing.
func (s *Server) forBrowsers(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, token, ok := r.BasicAuth(); ok {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if !s.known(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", `Basic realm="valla: a token as the password"`)
		}
		next(w, r)
	}
}

// weeks returns what the page shows.
func (o *outcomes) weeks() weeks {
	now := o.state()
	o.mu.Lock()
	defer o.mu.Unlock()
	present := o.o.now().Unix() / dayLength
	w := weeks{
		Name: o.name, Version: o.version, Level: fmt.Sprintf("%.4g %%", 100*o.o.OutcomeLevel), State: now, Needed: fewestRows,
		First: dayName(present - mostDays + 1), Present: dayName(present),
	}
	if now.Coverage != nil {
		w.Last = fmt.Sprintf("%.1f %%", 100**now.Coverage)
	}
	inside, labels := 0, 0
	for _, d := range o.days {
		if d.Day > present-driftDays {
			inside, labels = inside+d.Inside, labels+d.Labels
		}
	}
	if labels > 0 {
		m := audit.Share(float64(inside), labels)
		w.Week = fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*m.Value, 100*m.Lower, 100*m.Upper)
	}
	psi, rows := o.psi(present-driftDays+1, present)
	w.Rows = rows
	for j, v := range psi {
		w.Moved = append(w.Moved, moved{o.train.train[j].Name, v})
	}
	slices.SortFunc(w.Moved, func(a, b moved) int { return cmp.Compare(b.PSI, a.PSI) })
	w.Moved = w.Moved[:min(len(w.Moved), mostMoved)]
	w.Charts = []weeksChart{o.coverageChart(present), o.widthChart(present), o.driftChart(present)}
	return w
}

// predictedDrift returns the last population stability indices of the unfamiliarity and the predictions.
func (v *version) predictedDrift() (out []moved) {
	for _, psi := range v.familiar.report() {
		out = append(out, moved{"Unfamiliarity, against the training", psi})
	}
	for j, psi := range v.output.report() {
		out = append(out, moved{fmt.Sprintf("Predictions of %s, against the first %d", v.model.Task.Predicted()[j], firstRows), psi})
	}
	return out
}

// dayName returns a day as text.
func dayName(day int64) string { return time.Unix(day*dayLength, 0).UTC().Format("2 Jan 2006") }

// dot is a number of a day.
type dot struct {
	day             int64   // days since 1970
	v, lower, upper float64 // the number, and its bounds; equal without bounds
}

// coverageChart is the chart of the share of labels inside their intervals.
func (o *outcomes) coverageChart(present int64) weeksChart {
	var dots []dot
	for _, d := range o.days {
		if d.Labels > 0 {
			m := audit.Share(float64(d.Inside), d.Labels)
			dots = append(dots, dot{d.Day, 100 * m.Value, 100 * m.Lower, 100 * m.Upper})
		}
	}
	return chartOf("Coverage by day in percent, with bounds of 95 %. Dashed: the level.", dots, present, 100*o.o.OutcomeLevel, 100)
}

// widthChart is the chart of the mean widths of intervals.
func (o *outcomes) widthChart(present int64) weeksChart {
	var dots []dot
	for _, d := range o.days {
		if d.Labels > 0 {
			v := d.Width / float64(d.Labels)
			dots = append(dots, dot{d.Day, v, v, v})
		}
	}
	return chartOf("Mean width of the intervals by day.", dots, present, 0, 0)
}

// driftChart is the chart of the largest population stability index of the seven days up to each day.
func (o *outcomes) driftChart(present int64) weeksChart {
	var dots []dot
	for _, d := range o.days {
		if psi, _ := o.psi(d.Day-driftDays+1, d.Day); len(psi) > 0 {
			v := slices.Max(psi)
			dots = append(dots, dot{d.Day, v, v, v})
		}
	}
	return chartOf("Drift: largest PSI of an input, seven days against the training. Dashed: a large change.", dots, present, largeDrift, 0)
}

// largeDrift is the population stability index of a large change.
const largeDrift = 0.25

// chartOf returns a chart of the days up to the present. The vertical axis holds all numbers and the rule, and 0 if no top is given.
func chartOf(title string, dots []dot, present int64, rule, top float64) weeksChart {
	c := weeksChart{Title: title}
	dots = slices.DeleteFunc(dots, func(d dot) bool { return d.day <= present-mostDays || d.day > present })
	low, high := min(rule, top), max(rule, top)
	if top != 0 {
		low, high = rule, top
	}
	for _, d := range dots {
		low, high = min(low, d.lower), max(high, d.upper)
	}
	if !(high > low) || math.IsInf(high-low, 0) {
		high = low + 1
	}
	at := func(v float64) int { return int(math.Round(chartHeight - 6 - (v-low)/(high-low)*(chartHeight-12))) }
	var points []string
	for _, d := range dots {
		x := int((float64(d.day-present+mostDays) - 0.5) * chartWidth / mostDays)
		c.Dots = append(c.Dots, [2]int{x, at(d.v)})
		if d.upper > d.lower {
			c.Bars = append(c.Bars, [3]int{x, at(d.upper), at(d.lower)})
		}
		points = append(points, fmt.Sprintf("%d,%d", x, at(d.v)))
	}
	if rule > 0 {
		c.Rule = at(rule)
	}
	c.Line, c.Low, c.High = strings.Join(points, " "), fmt.Sprintf("%.3g", low), fmt.Sprintf("%.3g", high)
	return c
}
