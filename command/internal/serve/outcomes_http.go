package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-valla/valla"
)

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
	var lines []outcome
	if _, ok := list[0]["id"]; ok {
		lines, err = o.byID(list)
	} else {
		lines, err = s.byRow(q, list)
	}
	if err != nil {
		return err
	}
	added, err := o.add(lines)
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
		return nil, because(err, `expected JSON, [{"id": "…", "row": 0, "target": 1.5}, …] or rows with the columns and the target`)
	case len(rows.Rows) > most:
		return nil, tooMany(len(rows.Rows), most)
	}
	return rows.Rows, nil
}

// byID returns the outcomes of rows of earlier requests, without those whose label has come. Of two labels for one row the first counts.
func (o *outcomes) byID(list []map[string]json.RawMessage) (out []outcome, err error) {
	var ids []string
	targets, requests, seen := map[string][]target{}, map[string]kept{}, map[labelled]bool{}
	for i, object := range list {
		id, t, err := labelOf(i, object)
		if err != nil {
			return nil, err
		}
		key := labelled{id, t.row}
		k, ok, known := o.prediction(key)
		switch {
		case known || seen[key]:
			continue
		case !ok:
			return nil, &refusal{http.StatusNotFound, fmt.Sprintf("outcome %d (counting from 0): no prediction of the request %q is kept: send the row with its columns", i, short(id))}
		case t.row < 0 || t.row >= k.p.N():
			return nil, fmt.Errorf("outcome %d (counting from 0): row %d of a request with %d rows", i, t.row, k.p.N())
		}
		seen[key] = true
		if targets[id] == nil {
			ids = append(ids, id)
		}
		targets[id], requests[id] = append(targets[id], t), k
	}
	for _, id := range ids {
		lines, err := o.judged(id, requests[id], targets[id])
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}

// labelOf reads the label of a row of an earlier request. Without a number it is the first row. The numbers are pointers, because
// Unmarshal takes null for 0.
func labelOf(i int, object map[string]json.RawMessage) (id string, t target, err error) {
	line := struct {
		ID     string   `json:"id"`
		Row    *int     `json:"row"`
		Target *float64 `json:"target"`
	}{Row: new(int)}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &line)
	}
	if err != nil || line.ID == "" || line.Row == nil || line.Target == nil {
		return "", t, because(err, fmt.Sprintf("outcome %d (counting from 0): expected the id of a request, a row and a target", i))
	}
	return line.ID, target{i, *line.Row, *line.Target}, nil
}

// prediction returns the predictions of a request, and whether the row has its label already.
func (o *outcomes) prediction(row labelled) (k kept, ok, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok = o.recent.byID[row.id]
	return k, ok, o.known[row]
}

// byRow predicts rows and returns their outcomes.
func (s *Server) byRow(q *request, list []map[string]json.RawMessage) ([]outcome, error) {
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
	a, err := s.predict(q, in, valla.PredictOptions{})
	if err != nil {
		return nil, err
	}
	lines, err := q.version.outcomes.judged("", kept{a.p, in.x}, targets)
	for i := range lines {
		lines[i].Row = 0
	}
	return lines, err
}
