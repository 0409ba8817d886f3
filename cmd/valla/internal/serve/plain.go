package serve

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/tablefile"
)

// plain answers a POST of rows as people try first: a JSON list of objects {"column": value},
// {"rows": [...]} with such objects or with lists of values, or a table of text as a file has it.
// The answer is JSON, one object for each row, or CSV where the request asks for text/csv.
func (s *Server) plain(q *request) error {
	level, err := q.level()
	if err != nil {
		return err
	}
	var in rows
	if q.isJSON() {
		in, err = q.jsonRows(s.o.MaxRows)
	} else {
		in, err = q.textRows(s.o.MaxRows)
	}
	if err != nil {
		return err
	}
	link := task.Link(q.r.URL.Query().Get("link"))
	a, err := s.predict(q, in, valla.PredictOptions{Link: link})
	if err != nil {
		return err
	}
	names, table, err := a.table(level)
	if err != nil {
		return err
	}
	if strings.Contains(q.r.Header.Get("Accept"), "text/csv") {
		return q.sendCSV(names, table)
	}
	return q.sendObjects(names, table)
}

// usualLevel is the probability of intervals and sets where a request says none.
const usualLevel = 0.95

// level is the probability of the interval from lower to upper, or of the set of classes.
func (q *request) level() (float64, error) {
	given := q.r.URL.Query().Get("level")
	if given == "" {
		return usualLevel, nil
	}
	level, err := strconv.ParseFloat(given, 64)
	if err != nil || !(level > 0 && level < 1) {
		return 0, fmt.Errorf("level %q, expected a probability between 0 and 1", short(given))
	}
	return level, nil
}

// isJSON says whether the body is JSON: by its type or, where that says neither, by its beginning,
// because programs that send a file often give no type.
func (q *request) isJSON() bool {
	switch q.content {
	case "application/json":
		return true
	case "text/csv", "text/tab-separated-values":
		return false
	}
	start := bytes.TrimSpace(q.body)
	return len(start) == 0 || start[0] == '[' || start[0] == '{'
}

// textRows reads a table of text as valla predict reads a file that is not packed.
func (q *request) textRows(most int) (rows, error) {
	body := bufio.NewReader(bytes.NewReader(q.body))
	if kind, _ := tablefile.Sniff(body); kind != "" {
		return rows{}, fmt.Errorf("the body is %s, expected a table of text or JSON", kind)
	}
	s, err := data.TableReader{Names: q.columns(), Header: q.r.URL.Query().Get("header")}.OpenText("request", body)
	if err != nil {
		return rows{}, err
	}
	defer s.Close()
	table, err := s.Next(most + 1)
	if err != nil {
		return rows{}, err
	}
	if table.N() > most {
		return rows{}, tooMany(table.N(), most)
	}
	x, err := q.model.Columns(table)
	if err != nil {
		return rows{}, err
	}
	return rows{x.Float64s(), table.N()}, nil
}

// byName makes rows of columns with names in order.
func (q *request) byName(names []string, columns []cells, most int) (rows, error) {
	all := make(map[string]cells, len(names))
	for i, name := range names {
		name = strings.TrimSpace(name)
		if _, twice := all[name]; twice {
			return rows{}, fmt.Errorf("column %q is there twice", short(name))
		}
		all[name] = columns[i]
	}
	return q.columnRows(all, most)
}

// jsonRows reads a list of rows, or an object with the key "rows".
func (q *request) jsonRows(most int) (rows, error) {
	var body struct {
		Rows []json.RawMessage `json:"rows"`
	}
	trimmed := bytes.TrimSpace(q.body)
	var err error
	switch {
	case len(trimmed) > 0 && trimmed[0] == '[':
		err = json.Unmarshal(trimmed, &body.Rows)
	case len(trimmed) > 0 && trimmed[0] == '{':
		if err = json.Unmarshal(trimmed, &body); err == nil && body.Rows == nil {
			body.Rows = []json.RawMessage{trimmed} // one row
		}
	default:
		err = errors.New("the body is empty")
	}
	switch {
	case err != nil:
		return rows{}, fmt.Errorf(`expected JSON, [{"column": value, …}, …] or {"rows": [[value, …], …]}, or a table as text/csv: %w`, err)
	case len(body.Rows) == 0:
		return rows{}, errors.New("no rows")
	case len(body.Rows) > most:
		return rows{}, tooMany(len(body.Rows), most)
	case bytes.HasPrefix(bytes.TrimSpace(body.Rows[0]), []byte("[")):
		return q.listRows(body.Rows, most)
	}
	return q.objectRows(body.Rows, most)
}

// listRows reads rows that are lists: of the columns in order, or else of numbers, which may
// be nested.
func (q *request) listRows(list []json.RawMessage, most int) (rows, error) {
	names := q.columns()
	if names == nil {
		return q.arrayRows(list)
	}
	columns := make([]cells, len(names))
	for i, raw := range list {
		var row []any
		if err := json.Unmarshal(raw, &row); err != nil || len(row) != len(names) {
			return rows{}, fmt.Errorf("row %d (counting from 0): expected a list of %d values, of %s, found %s", i, len(names), quoted(names), short(string(raw)))
		}
		for j, v := range row {
			columns[j].add(v)
		}
	}
	return q.byName(names, columns, most)
}

// arrayRows reads rows that are arrays of numbers.
func (q *request) arrayRows(list []json.RawMessage) (rows, error) {
	d := q.width()
	out := rows{x: make([]float64, 0, len(list)*d), n: len(list)}
	for i, raw := range list {
		t := inputTensor{Name: "rows", Shape: []int{d}, Datatype: "FP64", Data: raw}
		c, err := t.cells(d)
		if err != nil {
			return rows{}, fmt.Errorf("row %d (counting from 0): %w; expected %s", i, err, q.expected())
		}
		out.x = append(out.x, c.numbers...)
	}
	return out, nil
}

// objectRows reads rows that are objects of columns.
func (q *request) objectRows(list []json.RawMessage, most int) (rows, error) {
	names := q.columns()
	columns := make([]cells, len(names))
	for i, raw := range list {
		var row map[string]any
		if err := json.Unmarshal(raw, &row); err != nil {
			return rows{}, fmt.Errorf("row %d (counting from 0): expected an object of columns, found %s", i, short(string(raw)))
		}
		for j, name := range names {
			v, ok := row[name]
			if !ok {
				return rows{}, fmt.Errorf("row %d (counting from 0) has no column %q", i, name)
			}
			columns[j].add(v)
		}
	}
	return q.byName(names, columns, most)
}

// cellText is the text of a JSON value, as a CSV file would have it.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// column is one of the columns of an answer, of numbers or of words.
type column struct {
	numbers []float64
	words   []string
}

// table returns the prediction in columns, those of valla predict.
func (a *answer) table(level float64) (names []string, out []column, err error) {
	add := func(name string, c column) { names, out = append(names, name), append(out, c) }
	if a.v.classes() != nil {
		best, _, _ := bestClass(a)
		add("class", column{words: best.([]string)})
		for k, name := range a.v.classNames() {
			add("p_"+name, column{numbers: every(a.p.Probs, k, a.v.outputs)})
		}
		h, _, _ := entropy(a)
		add("entropy", column{numbers: h.([]float64)})
		if a.p.Conformal != nil {
			sets, err := a.p.SetNames(level)
			if err != nil {
				return nil, nil, err
			}
			add("set", column{words: sets})
		}
		return names, out, nil
	}
	lower, upper, err := a.p.Interval(level)
	if err != nil {
		return nil, nil, err
	}
	t := a.v.outputs
	for k, target := range a.p.Targets {
		suffix := ""
		if t > 1 {
			suffix = "_" + target
		}
		for _, c := range []struct {
			name   string
			values []float64
		}{
			{"mean", a.p.Mean}, {"std", a.p.Std()}, {"lower", lower}, {"upper", upper},
			{"epistemic", a.p.EpistemicStd()}, {"aleatoric", a.p.AleatoricStd()},
		} {
			add(c.name+suffix, column{numbers: every(c.values, k, t)})
		}
	}
	return names, out, nil
}

// every returns column k of rows of width t.
func every(v []float64, k, t int) []float64 {
	var out []float64
	for i := k; i < len(v); i += t {
		out = append(out, v[i])
	}
	return out
}

// sendObjects writes one object for each row.
func (q *request) sendObjects(names []string, table []column) error {
	list := make([]map[string]any, q.rows)
	for i := range list {
		list[i] = make(map[string]any, len(names))
		for k, c := range table {
			if c.words != nil {
				list[i][names[k]] = c.words[i]
			} else {
				list[i][names[k]] = c.numbers[i]
			}
		}
	}
	reply(q.w, map[string]any{"model": q.name, "version": q.hash, "predictions": list})
	return nil
}

// sendCSV writes a line for each row.
func (q *request) sendCSV(names []string, table []column) error {
	q.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	q.w.Header().Set("X-Model-Version", q.hash)
	w := csv.NewWriter(q.w)
	_ = w.Write(names)
	record := make([]string, len(names))
	for i := range q.rows {
		for k, c := range table {
			if c.words != nil {
				record[k] = c.words[i]
			} else {
				record[k] = strconv.FormatFloat(c.numbers[i], 'g', -1, 64)
			}
		}
		_ = w.Write(record)
	}
	w.Flush()
	return nil // a client that has gone is no error of the request
}
