package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
)

// outcomes are the labels of a version of a model that came back, by which its intervals adapt. A file holds them: a line for
// each, which is on the disk before the client has its answer.
type outcomes struct {
	mu       sync.Mutex
	path     string                       // path of the file
	file     *os.File                     // open for appending
	size     int64                        // bytes of whole lines
	online   *calibrate.Online            // adapts the intervals
	known    map[labelled]bool            // rows of requests that have their label
	labelled []labelled                   // the same, the oldest first
	last     []bool                       // whether the last labels were inside, at most coverageWindow
	recent   map[string]*valla.Prediction // predictions of requests by their ids
	order    []string                     // ids of recent, the oldest first
	rows     int                          // rows of recent
}

// labelled is a row of a request.
type labelled struct {
	id  string // id of the request
	row int    // number of the row, from 0
}

// outcome is a line of the file.
type outcome struct {
	ID    string  `json:"id,omitempty"`  // id of the request; "" for a row without one
	Row   int     `json:"row,omitempty"` // number of the row in the request, from 0
	Score float64 `json:"score"`         // distance from the mean in standard deviations
}

const (
	mostRecent     = 100_000 // most rows whose predictions are kept for their labels
	coverageWindow = 500     // labels over which the metrics count the coverage
	normalScores   = 999     // scores of a normal distribution with which a model without conformal scores begins
)

// openOutcomes reads the file of a model's version in a folder, and goes on from there. A line that was cut off at the end, for
// which no client has an answer, is removed.
func openOutcomes(folder string, v *version, level float64) (*outcomes, error) {
	o := &outcomes{path: filepath.Join(folder, url.PathEscape(v.name)+"-"+v.hash+".jsonl"), known: map[labelled]bool{}, recent: map[string]*valla.Prediction{}}
	var err error
	if o.online, err = calibrate.NewOnline(level, firstScores(v.model)); err != nil {
		return nil, fmt.Errorf("%s: %w", o.path, err)
	}
	if o.file, err = os.OpenFile(o.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	if err := o.replay(); err != nil {
		return nil, errors.Join(err, o.file.Close())
	}
	return o, nil
}

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

// replay reads the lines of the file.
func (o *outcomes) replay() error {
	all, err := io.ReadAll(o.file)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		end := bytes.IndexByte(all[o.size:], '\n')
		if end < 0 {
			break
		}
		var line outcome
		if err := json.Unmarshal(all[o.size:o.size+int64(end)], &line); err != nil {
			return fmt.Errorf("%s, line %d: expected an outcome such as {\"score\":0.5}: %w", o.path, n, err)
		}
		if err := o.apply(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", o.path, n, err)
		}
		o.size += int64(end) + 1
	}
	if err := o.file.Truncate(o.size); err != nil {
		return err
	}
	_, err = o.file.Seek(o.size, io.SeekStart)
	return err
}

// apply adapts the intervals to an outcome.
func (o *outcomes) apply(line outcome) error {
	inside, err := o.online.Add(line.Score)
	if err != nil {
		return err
	}
	if key := (labelled{line.ID, line.Row}); line.ID != "" {
		o.known[key], o.labelled = true, append(o.labelled, key)
		if len(o.labelled) > mostRecent {
			delete(o.known, o.labelled[0])
			o.labelled = o.labelled[1:]
		}
	}
	if o.last = append(o.last, inside); len(o.last) > coverageWindow {
		o.last = o.last[1:]
	}
	return nil
}

// add puts outcomes on the disk and adapts the intervals to them. Rows of requests that have their label already are left
// out, so that a client may send them again. It returns the number of new outcomes.
func (o *outcomes) add(list []outcome) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var fresh []outcome
	var text []byte
	for _, line := range list {
		if line.ID != "" && (o.known[labelled{line.ID, line.Row}] || slices.Contains(fresh, line)) {
			continue
		}
		raw, err := json.Marshal(line)
		if err != nil {
			return 0, err
		}
		fresh, text = append(fresh, line), append(append(text, raw...), '\n')
	}
	if _, err := o.file.Write(text); err != nil {
		return 0, o.undo(err)
	}
	if err := o.file.Sync(); err != nil {
		return 0, o.undo(err)
	}
	o.size += int64(len(text))
	for _, line := range fresh {
		if err := o.apply(line); err != nil {
			return 0, err
		}
	}
	return len(fresh), nil
}

// undo removes what was written of outcomes that could not be kept.
func (o *outcomes) undo(err error) error {
	_, seek := o.file.Seek(o.size, io.SeekStart)
	return &refusal{http.StatusInsufficientStorage, "the outcomes were not kept: " + errors.Join(err, o.file.Truncate(o.size), seek).Error()}
}

// remember keeps the predictions of a request until its labels come.
func (o *outcomes) remember(id string, p *valla.Prediction) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before, ok := o.recent[id]; ok {
		o.rows -= before.N()
		o.order = slices.DeleteFunc(o.order, func(other string) bool { return other == id })
	}
	o.recent[id], o.order, o.rows = p, append(o.order, id), o.rows+p.N()
	for o.rows > mostRecent && len(o.order) > 1 {
		o.rows -= o.recent[o.order[0]].N()
		delete(o.recent, o.order[0])
		o.order = o.order[1:]
	}
}

// prediction returns the predictions of a request, and whether the row has its label already.
func (o *outcomes) prediction(row labelled) (p *valla.Prediction, ok, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, ok = o.recent[row.id]
	return p, ok, o.known[row]
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
	s := state{Limit: o.online.Limit()}
	s.Labels, _ = o.online.Seen()
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
	if o != nil {
		_ = o.file.Close() // every line is on the disk
	}
}

// adapts reports whether outcomes can adapt the intervals of a model: those of one number.
func adapts(m *valla.Model) bool {
	l := m.Likelihood()
	return len(m.Task.Targets()) == 1 && !likelihood.IsClass(l) && l.Kind() == likelihood.Number && l.Width() == 1
}

// scoreOf returns the score of the target of a row.
func scoreOf(p *valla.Prediction, row int, target float64) float64 {
	y := slices.Clone(p.Mean)
	y[row] = target
	mean, variance, y := p.Additive(y)
	return math.Abs(y[row]-mean[row]) / math.Sqrt(variance[row])
}

// limit returns half of the next interval, in standard deviations.
func (o *outcomes) limit() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.online.Limit()
}

// interval returns the bounds of the intervals of a prediction that adapt to the outcomes.
func (o *outcomes) interval(p *valla.Prediction, level float64) (lower, upper []float64, err error) {
	limit, n := o.limit(), 1
	for calibrate.Enough(n, level) != nil {
		n++
	}
	q := *p
	q.Conformal, q.Groups, q.Weights = &calibrate.Conformal{Rows: n, Scores: slices.Repeat([]float64{limit}, n)}, nil, nil
	return q.Interval(level)
}

// outcomes answers a POST of labels: a JSON list of objects with the id of a request, the row and the target, or rows with all columns and
// the target, or an object with such a list as its rows.
func (s *Server) outcomes(q *request) error {
	o := q.version.outcomes
	if o == nil {
		return &refusal{http.StatusNotFound, fmt.Sprintf("model %q takes no outcomes: they need valla serve --outcomes FOLDER and a model of one number", q.name)}
	}
	list, err := q.outcomeList(s.o.MaxRows)
	if err != nil {
		return err
	}
	var scores []outcome
	if _, ok := list[0]["id"]; ok {
		scores, err = q.scoresByID(o, list)
	} else {
		scores, err = s.scoresByRow(q, list)
	}
	if err != nil {
		return err
	}
	added, err := o.add(scores)
	if err != nil {
		return err
	}
	now := o.state()
	now.Added = added
	s.o.metrics.outcome(q.name, now, added)
	reply(q.w, now)
	return nil
}

// outcomeList reads the objects of a request with outcomes.
func (q *request) outcomeList(most int) (list []map[string]json.RawMessage, err error) {
	body := bytes.TrimSpace(q.body)
	var rows struct {
		Rows []map[string]json.RawMessage `json:"rows"`
	}
	if bytes.HasPrefix(body, []byte("[")) {
		err = json.Unmarshal(body, &rows.Rows)
	} else {
		err = json.Unmarshal(body, &rows)
	}
	switch {
	case err != nil || len(rows.Rows) == 0:
		return nil, fmt.Errorf(`expected JSON, [{"id": "…", "row": 0, "target": 1.5}, …] or rows with the columns and the target: %w`, errors.Join(err))
	case len(rows.Rows) > most:
		return nil, tooMany(len(rows.Rows), most)
	}
	return rows.Rows, nil
}

// scoresByID returns the scores of targets of rows of earlier requests.
func (q *request) scoresByID(o *outcomes, list []map[string]json.RawMessage) (out []outcome, err error) {
	for i, object := range list {
		var line struct {
			ID     string   `json:"id"`
			Row    int      `json:"row"`
			Target *float64 `json:"target"`
		}
		raw, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(raw, &line)
		}
		if err != nil || line.ID == "" || line.Target == nil {
			return nil, fmt.Errorf("outcome %d (counting from 0): expected the id of a request, a row and a target: %w", i, errors.Join(err))
		}
		p, ok, known := o.prediction(labelled{line.ID, line.Row})
		if known {
			continue
		}
		if !ok {
			return nil, &refusal{http.StatusNotFound, fmt.Sprintf("outcome %d (counting from 0): no prediction of the request %q is kept: send the row with its columns", i, short(line.ID))}
		}
		if line.Row < 0 || line.Row >= p.N() {
			return nil, fmt.Errorf("outcome %d (counting from 0): row %d of a request with %d rows", i, line.Row, p.N())
		}
		score, err := checkScore(i, scoreOf(p, line.Row, *line.Target))
		if err != nil {
			return nil, err
		}
		out = append(out, outcome{line.ID, line.Row, score})
	}
	return out, nil
}

// checkScore returns an error if the score of an outcome is not finite.
func checkScore(i int, score float64) (float64, error) {
	if !(score >= 0) || math.IsInf(score, 0) {
		return 0, fmt.Errorf("outcome %d (counting from 0): the target has no distance from its prediction", i)
	}
	return score, nil
}

// scoresByRow predicts rows and returns the scores of their targets.
func (s *Server) scoresByRow(q *request, list []map[string]json.RawMessage) (out []outcome, err error) {
	name := q.model.Task.Targets()[0]
	var rows []json.RawMessage
	targets := make([]float64, len(list))
	for i, object := range list {
		if err := json.Unmarshal(object[name], &targets[i]); err != nil {
			return nil, fmt.Errorf("outcome %d (counting from 0): expected a number %q, or the id of a request", i, name)
		}
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		rows = append(rows, raw)
	}
	in, err := q.objectRows(rows, s.o.MaxRows)
	if err != nil {
		return nil, err
	}
	a, err := s.predict(q, in, valla.PredictOptions{})
	if err != nil {
		return nil, err
	}
	for i, target := range targets {
		score, err := checkScore(i, scoreOf(&a.p, i, target))
		if err != nil {
			return nil, err
		}
		out = append(out, outcome{Score: score})
	}
	return out, nil
}
