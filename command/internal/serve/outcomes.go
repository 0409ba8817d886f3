package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
)

// outcomes are the labels of a version of a model that came back, by which its intervals adapt. A file holds them: a line for
// each, which is on the disk before the client has its answer.
type outcomes struct {
	adding   sync.Mutex           // taken before mu, and held while labels are added, also while they go to the disk; it guards log
	mu       sync.Mutex           // guards what predictions need; labels change it under both, so that who adds labels may read it under adding
	name     string               // name of the model
	version  string               // version of the model
	o        Options              // options of the server
	log      labelLog             // file of the labels
	online   *calibrate.Online    // adapts the intervals
	scores   *calibrate.Conformal // scores of the next intervals; nil: not yet known
	labels   int                  // labels so far
	known    map[labelled]bool    // rows of requests whose labels are in the file
	labelled []labelled           // row of each line of the file
	last     []bool               // whether the last labels were inside, at most coverageWindow
	days     []day                // last days that had labels
	train    *drift               // bins of the inputs; nil: not known
	recent   recent               // predictions that wait for their labels
	books    *books               // labels of all versions in use
	users    int                  // versions that use the labels, guarded by the books
}

// labelled is a row of a request.
type labelled struct {
	id  string // id of the request; "" for a row without one
	row int    // number of the row, from 0
}

// outcome is a line of the file.
type outcome struct {
	Time   int64     `json:"time"`            // seconds since 1970
	ID     string    `json:"id,omitempty"`    // id of the request; "" for a row without one
	Row    int       `json:"row,omitempty"`   // number of the row in the request, from 0
	Score  float64   `json:"score"`           // distance from the mean in standard deviations
	Width  float64   `json:"width,omitempty"` // width of the interval; 0: not finite
	X      []float64 `json:"x"`               // inputs of the row, as the network's encoding has them
	Target float64   `json:"y"`               // the label
}

const (
	coverageWindow = 500 // labels over which the metrics count the coverage
	normalScores   = 999 // scores of a normal distribution with which a model without conformal scores begins
)

// firstScores are the scores with which the intervals of a model begin: those of its conformal calibration, or those of a normal
// distribution.
func firstScores(m *valla.Model) []float64 {
	if c := m.Calibration; c != nil && c.Conformal != nil && len(c.Conformal.Scores) == c.Conformal.Rows {
		return c.Conformal.Scores
	}
	scores := make([]float64, normalScores)
	for i := range scores {
		scores[i] = math.Sqrt2 * math.Erfinv(float64(i+1)/(normalScores+1))
	}
	return scores
}

// apply adapts the intervals to an outcome.
func (o *outcomes) apply(line outcome) error {
	inside, err := o.online.Add(line.Score)
	if err != nil {
		return err
	}
	key := labelled{line.ID, line.Row}
	if o.labelled = append(o.labelled, key); line.ID != "" {
		o.known[key] = true
	}
	if o.last = append(o.last, inside); len(o.last) > coverageWindow {
		o.last = o.last[1:]
	}
	o.count(line, inside)
	o.labels++
	o.scores = nil
	return nil
}

// add puts outcomes on the disk and adapts the intervals to them. Rows of requests that have their label already are left
// out, so that a client may send them again. It returns the number of new outcomes.
func (o *outcomes) add(list []outcome) (int, error) {
	o.adding.Lock()
	defer o.adding.Unlock()
	var fresh []outcome
	var text []byte
	now := map[labelled]bool{}
	for _, line := range list {
		key := labelled{line.ID, line.Row}
		if line.ID != "" && (o.known[key] || now[key]) {
			continue
		}
		now[key] = true
		raw, err := json.Marshal(line)
		if err != nil {
			return 0, err
		}
		fresh, text = append(fresh, line), append(append(text, raw...), '\n')
	}
	if err := o.log.append(text, len(fresh)); err != nil {
		return 0, &refusal{http.StatusInsufficientStorage, "the outcomes were not kept: " + err.Error()}
	}
	if err := o.applyAll(fresh); err != nil {
		return 0, err
	}
	if err := o.compact(); err != nil {
		o.o.Log.Error("the file of labels stays long", "file", o.log.path, "error", err)
	}
	return len(fresh), nil
}

// applyAll adapts the intervals to outcomes.
func (o *outcomes) applyAll(list []outcome) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range list {
		if err := o.apply(line); err != nil {
			return err
		}
	}
	return nil
}

// state is what the server says about the outcomes of a model.
type state struct {
	Added    int      `json:"added"`              // outcomes of the request that are new
	Labels   int      `json:"labels"`             // all outcomes
	Coverage *float64 `json:"coverage,omitempty"` // share of the last 500 that were inside
	Limit    float64  `json:"limit"`              // half of the next interval, in standard deviations
}

// state returns the state.
func (o *outcomes) state() state {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := state{Limit: o.online.Limit(), Labels: o.labels}
	if len(o.last) > 0 {
		inside := 0.0
		for _, v := range o.last {
			if v {
				inside += 1 / float64(len(o.last))
			}
		}
		s.Coverage = &inside
	}
	return s
}

// close closes the file.
func (o *outcomes) close() {
	if o != nil && o.log.file != nil {
		_ = o.log.file.Close() // every line is on the disk
	}
}

// adapts reports whether outcomes can adapt the intervals of a model: those of one number.
func adapts(m *valla.Model) bool {
	l := m.Likelihood()
	return len(m.Task.Targets()) == 1 && l.Kind() == likelihood.Number && l.Width() == 1
}

// adapted returns a prediction whose intervals and quantiles adapt to the outcomes. A law without a variance keeps its own: an
// outcome's distance is measured in standard deviations.
func (o *outcomes) adapted(p valla.Prediction) valla.Prediction {
	if _, variance, _ := p.Additive(p.Mean); slices.ContainsFunc(variance, func(v float64) bool { return math.IsInf(v, 0) }) {
		return p
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.scores == nil {
		o.scores = o.online.Conformal()
	}
	p.Conformal, p.Groups, p.Weights = o.scores, nil, nil
	return p
}

// keep keeps the predictions of a request until its labels come.
func (o *outcomes) keep(id string, k kept) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recent.add(id, k)
}

// target is the label of a row of a prediction.
type target struct {
	at  int     // place in the request, for messages
	row int     // row of the prediction
	y   float64 // the label
}

// judged returns the outcomes of rows of a prediction.
func (o *outcomes) judged(id string, k kept, list []target) (out []outcome, err error) {
	y := slices.Clone(k.p.Mean)
	for _, t := range list {
		y[t.row] = t.y
	}
	p := o.adapted(k.p)
	lower, upper, err := p.Interval(o.o.OutcomeLevel)
	if err != nil {
		return nil, err
	}
	mean, variance, y := p.Additive(y)
	d := len(k.x) / len(y)
	for _, t := range list {
		if math.IsInf(variance[t.row], 1) {
			return nil, fmt.Errorf("outcome %d (counting from 0): the variance of its prediction is infinite, so that no interval adapts", t.at)
		}
		score := math.Abs(y[t.row]-mean[t.row]) / math.Sqrt(variance[t.row])
		if !(score >= 0) || math.IsInf(score, 0) {
			return nil, fmt.Errorf("outcome %d (counting from 0): the target has no distance from its prediction", t.at)
		}
		line := outcome{Time: o.o.now().Unix(), ID: id, Row: t.row, Score: score, X: k.x[t.row*d:][:d], Target: t.y}
		if w := upper[t.row] - lower[t.row]; w-w == 0 {
			line.Width = w
		}
		out = append(out, line)
	}
	return out, nil
}
