package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-valla/valla"
)

// outcomes answers a POST of labels: a JSON list of objects with the id of a request, the row and the target, or rows with all columns and
// the target, or an object with such a list as its rows.
func (s *Server) outcomes(q *request) error {
	o := q.version.outcomes
	if o == nil {
		return &refusal{http.StatusNotFound, fmt.Sprintf("model %q takes no outcomes: they need valla serve --outcomes FOLDER and a model of one number", q.name)}
	}
	if err := q.memory.take(parsing(q.body)); err != nil {
		return err
	}
	list, err := q.outcomeList(s.o.MaxRows)
	if err != nil {
		return err
	}
	var lines map[*outcomes][]outcome
	if q.version.byRequest(list[0]) {
		lines, err = q.version.byID(list)
	} else {
		lines, err = s.byRow(q, list)
	}
	if err != nil {
		return err
	}
	added, err := q.version.addOutcomes(lines)
	if err != nil {
		return err
	}
	now := o.state()
	now.Added = added
	s.o.metrics.outcome(q.name, now, added)
	reply(q.w, now)
	return nil
}

// addOutcomes adds outcomes to the labels of this version and of the one before, and returns the number of new ones.
func (v *version) addOutcomes(lines map[*outcomes][]outcome) (added int, err error) {
	for _, o := range []*outcomes{v.outcomes, v.former} {
		if len(lines[o]) == 0 {
			continue
		}
		n, err := o.add(lines[o])
		if added += n; err != nil {
			return added, err
		}
	}
	return added, nil
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
		return nil, because(err, `expected JSON, [{"id": "…", "row": 0, "target": 1.5}, …] or rows with the columns and the target`)
	case len(rows.Rows) > most:
		return nil, tooMany(len(rows.Rows), most)
	}
	return rows.Rows, nil
}

// predicted is a request that a version has predicted.
type predicted struct {
	by *outcomes // labels of the version
	id string    // id of the request
}

// byID returns the outcomes of rows of earlier requests, without those whose label has come. Of two labels for one row the first counts. The outcome
// of a row belongs to the version that has predicted it.
func (v *version) byID(list []map[string]json.RawMessage) (out map[*outcomes][]outcome, err error) {
	var all []predicted
	targets, requests, seen := map[predicted][]target{}, map[predicted]kept{}, map[labelled]bool{}
	for i, object := range list {
		id, t, err := labelOf(i, object)
		if err != nil {
			return nil, err
		}
		key := labelled{id, t.row}
		by, k, known := v.prediction(key)
		switch {
		case known || seen[key]:
			continue
		case by == nil:
			return nil, &refusal{http.StatusNotFound, fmt.Sprintf("outcome %d (counting from 0): no prediction of the request %q is kept: send the row with its columns", i, short(id))}
		case t.row < 0 || t.row >= k.p.N():
			return nil, fmt.Errorf("outcome %d (counting from 0): row %d of a request with %d rows", i, t.row, k.p.N())
		}
		seen[key] = true
		request := predicted{by, id}
		if targets[request] == nil {
			all = append(all, request)
		}
		targets[request], requests[request] = append(targets[request], t), k
	}
	out = map[*outcomes][]outcome{}
	for _, request := range all {
		lines, err := request.by.judged(request.id, requests[request], targets[request])
		if err != nil {
			return nil, err
		}
		out[request.by] = append(out[request.by], lines...)
	}
	return out, nil
}

// byRequest says whether an object names a row of an earlier request: it has an id, and no column of the model besides. A table may
// have columns with the names id, row and target.
func (v *version) byRequest(object map[string]json.RawMessage) bool {
	if _, ok := object["id"]; !ok {
		return false
	}
	for _, name := range v.columns() {
		if _, ok := object[name]; ok && name != "id" && name != "row" && name != "target" {
			return false
		}
	}
	return true
}

// labelOf reads the label of a row of an earlier request. Without a number it is the first row. The numbers are pointers, because
// Unmarshal takes null for 0.
func labelOf(i int, object map[string]json.RawMessage) (id string, t target, err error) {
	line := struct {
		ID     string   `json:"id"`
		Row    *int     `json:"row"`
		Target *float64 `json:"target"`
	}{Row: new(int)}
	var given []string
	for name := range object {
		given = append(given, strings.ToLower(name)) // Unmarshal takes names in any case
	}
	slices.Sort(given)
	if err := checkNames("key", given, "id", "row", "target"); err != nil { // a misspelled row would be the first row
		return "", t, fmt.Errorf("outcome %d (counting from 0): %w", i, err)
	}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &line)
	}
	if err != nil || line.ID == "" || line.Row == nil || line.Target == nil {
		return "", t, because(err, fmt.Sprintf("outcome %d (counting from 0): expected the id of a request, a row and a target", i))
	}
	return line.ID, target{i, *line.Row, *line.Target}, nil
}

// prediction returns the predictions of a request and the labels of the version that has made them, this one or the one before, nil
// if neither has; and whether the row has its label already.
func (v *version) prediction(row labelled) (by *outcomes, k kept, known bool) {
	for _, o := range []*outcomes{v.outcomes, v.former} {
		if o == nil {
			continue
		}
		if k, ok, known := o.prediction(row); ok || known {
			return o, k, known
		}
	}
	return nil, kept{}, false
}

// prediction returns the predictions of a request, and whether the row has its label already.
func (o *outcomes) prediction(row labelled) (k kept, ok, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok = o.recent.of(row.id)
	return k, ok, o.known[row]
}

// byRow predicts rows and returns their outcomes, which belong to the present version.
func (s *Server) byRow(q *request, list []map[string]json.RawMessage) (map[*outcomes][]outcome, error) {
	name := q.model.Task.Targets()[0]
	var rows []json.RawMessage
	targets := make([]target, len(list))
	for i, object := range list {
		var y *float64 // nil for null
		if err := json.Unmarshal(object[name], &y); err != nil || y == nil {
			return nil, fmt.Errorf("outcome %d (counting from 0): expected a number %q, or the id of a request", i, name)
		}
		targets[i] = target{at: i, row: i, y: *y}
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
	if err := q.memory.take(q.answerBytes(in.n, 0, 0)); err != nil {
		return nil, err
	}
	a, err := s.predict(q, in, valla.PredictOptions{})
	if err != nil {
		return nil, err
	}
	by := q.version.outcomes
	lines, err := by.judged("", kept{a.p, in.x}, targets)
	for i := range lines {
		lines[i].Row = 0
	}
	return map[*outcomes][]outcome{by: lines}, err
}
