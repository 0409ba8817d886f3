package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// plain answers a POST of rows in a simple form: a JSON list of objects {"column": value}, an object
// {"rows": [...]} of such objects or of lists of values, or a table of text. The answer is JSON, with
// one object for each row, or CSV if the request asks for text/csv.
func (s *Server) plain(q *request) error {
	o, err := q.columnOptions()
	if err != nil {
		return err
	}
	if err := q.memory.take(parsing(q.body)); err != nil {
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
	if err := q.memory.take(q.answerBytes(in.n, float64(in.n)*q.columnsOf(o), cellBytes)); err != nil {
		return err
	}
	link := task.Link(q.r.URL.Query().Get("link"))
	a, err := s.adapted(q, q.id, in, valla.PredictOptions{Link: link})
	if err != nil {
		return err
	}
	table, err := a.table(o)
	if err != nil {
		return err
	}
	if strings.Contains(q.r.Header.Get("Accept"), "text/csv") {
		return q.sendCSV(table)
	}
	q.sendObjects(table)
	return nil
}

// usualLevel is the probability of intervals and sets if a request names none.
const usualLevel = 0.95

// plainParameters are the parameters of the address for rows in a simple form.
var plainParameters = []string{"level", "quantiles", "above", "link", "header"}

// columnOptions returns the columns for which the request asks: the parameter level is the probability of intervals and
// sets, quantiles and above are lists with commas.
func (q *request) columnOptions() (o listing.Options, err error) {
	parameters := map[string]any{}
	for _, name := range []string{"level", "quantiles", "above"} {
		if given := q.r.URL.Query().Get(name); given != "" {
			parameters[name] = given
		}
	}
	level, err := numbersIn(parameters, "level", probability, usualLevel)
	if err != nil {
		return o, err
	}
	if o.Level = level[0]; len(level) > 1 {
		return o, fmt.Errorf("level: %d numbers, expected 1", len(level))
	}
	if o.Quantiles, err = numbersIn(parameters, "quantiles", probability); err != nil {
		return o, err
	}
	o.Above, err = numbersIn(parameters, "above", finite)
	return o, err
}

// isJSON says whether the body is JSON. If the media type does not decide, the first character does,
// because programs that send a file often name no type.
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

// textRows reads a table of text, as valla predict reads a file without compression.
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
		return rows{}, q.aboutNames(s.Columns, true, err)
	}
	if table.N() > most {
		return rows{}, tooMany(table.N(), most)
	}
	set, err := q.model.Set(table, false)
	if err != nil {
		return rows{}, q.aboutNames(s.Columns, false, err)
	}
	return rows{set.X.Float64s(), table.N()}, nil
}

// aboutNames adds to an error about a table of text with the given columns what is wrong with its first row: values that
// were taken for names or, in a table without rows, the name of a column that is missing.
func (q *request) aboutNames(given []string, empty bool, err error) error {
	var absent []string
	for _, name := range q.columns() {
		if !slices.Contains(given, name) {
			absent = append(absent, name)
		}
	}
	header := q.r.URL.Query().Get("header")
	switch {
	case len(absent) == 0 || header == "no" || given[0] == "x0": // the name of the first column of a table without names
		return err
	case len(absent) == len(q.columns()) && header != "yes":
		return fmt.Errorf("%w; the first row was taken for names: ?header=no reads it as values", err)
	case empty:
		return fmt.Errorf("%w, and no column %q", err, absent[0])
	}
	return err
}

// jsonRows reads a list of rows, or an object with the key "rows".
func (q *request) jsonRows(most int) (rows, error) {
	list, err := rowList(bytes.TrimSpace(q.body))
	switch {
	case err != nil:
		return rows{}, fmt.Errorf(`expected JSON, [{"column": value, …}, …] or {"rows": [[value, …], …]}, or a table as text/csv: %w`, malformed(bytes.TrimSpace(q.body), err))
	case len(list) == 0:
		return rows{}, errors.New("no rows")
	case len(list) > most:
		return rows{}, tooMany(len(list), most)
	case isList(list[0]):
		return q.listRows(list, most)
	}
	return q.objectRows(list, most)
}

// rowList returns the rows of a body. An object whose key "rows" is no list is a row, of which a column may have this name.
func rowList(body []byte) (list []json.RawMessage, err error) {
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	var object map[string]json.RawMessage
	if !isList(body) {
		if err := json.Unmarshal(body, &object); err != nil || !isList(object["rows"]) {
			return []json.RawMessage{body}, err
		}
		body = object["rows"]
	}
	if delete(object, "rows"); len(object) > 0 { // such as "columns", by which the rows would have another order
		return nil, fmt.Errorf(`found %s beside "rows", expected no other key`, tablefile.Listed(slices.Sorted(maps.Keys(object))))
	}
	err = json.Unmarshal(body, &list)
	return list, err
}

// isList says whether JSON without spaces at its start is a list.
func isList(text []byte) bool { return len(text) > 0 && text[0] == '[' }

// listRows reads rows that are lists: the columns in their order or, for a model without columns,
// numbers in lists that may be nested.
func (q *request) listRows(list []json.RawMessage, most int) (rows, error) {
	names := q.columns()
	if names == nil {
		return q.arrayRows(list)
	}
	columns := make([]cells, len(names))
	for i, raw := range list {
		var row []any
		if json.Unmarshal(raw, &row) != nil {
			if err := unreadable(i, raw, names); err != nil {
				return rows{}, err
			}
		}
		if len(row) != len(names) {
			return rows{}, fmt.Errorf("row %d (counting from 0): expected a list of %d values, of %s, found %s", i, len(names), tablefile.Listed(names), short(string(raw)))
		}
		for j, v := range row {
			if err := columns[j].add(v); err != nil {
				return rows{}, fmt.Errorf("row %d (counting from 0), column %q: %w", i, names[j], err)
			}
		}
	}
	return q.columnRows(columns, most)
}

// arrayRows reads rows that are arrays of numbers.
func (q *request) arrayRows(list []json.RawMessage) (rows, error) {
	d := q.width()
	out := rows{x: make([]float64, 0, len(list)*d), n: len(list)}
	for i, raw := range list {
		t := inputTensor{Name: "rows", Shape: []int{d}, Datatype: "FP64", Data: raw}
		c, err := t.cells(d)
		if err == nil && isList(bytes.TrimSpace(raw[1:])) { // a flat list has one order
			if shape := nested(raw); !q.model.Task.Inputs.Takes(shape) {
				err = fmt.Errorf("lists of shape %v", shape)
			}
		}
		if err != nil {
			return rows{}, fmt.Errorf("row %d (counting from 0): %w; expected %s", i, err, q.expected())
		}
		out.x = append(out.x, c.numbers...)
	}
	return out, nil
}

// nested returns the lengths of a list, of its first list, and so on.
func nested(raw json.RawMessage) (shape []int) {
	for isList(raw) {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			break
		}
		shape, raw = append(shape, len(list)), list[0]
	}
	return shape
}

// objectRows reads rows that are objects of columns.
func (q *request) objectRows(list []json.RawMessage, most int) (rows, error) {
	names := q.columns()
	columns := make([]cells, len(names))
	for i, raw := range list {
		var row map[string]any
		if json.Unmarshal(raw, &row) != nil {
			if err := unreadable(i, raw, names); err != nil {
				return rows{}, err
			}
		}
		if row == nil {
			return rows{}, fmt.Errorf("row %d (counting from 0): expected an object of columns, found %s", i, short(string(raw)))
		}
		for j, name := range names {
			v, ok := row[name]
			if !ok {
				given := slices.Sorted(maps.Keys(row))
				return rows{}, fmt.Errorf("row %d (counting from 0) has no column %q; it has %s%s", i, name, tablefile.Listed(given), settings.Nearest(name, given))
			}
			if err := columns[j].add(v); err != nil {
				return rows{}, fmt.Errorf("row %d (counting from 0), column %q: %w", i, name, err)
			}
		}
	}
	return q.columnRows(columns, most)
}

// unreadable returns an error about the first value of a row, which is a list of the columns in names or an object, that is
// beyond the range of numbers; nil if there is none.
func unreadable(i int, raw json.RawMessage, names []string) error {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil && json.Unmarshal(raw, &object) != nil {
		return nil
	}
	for j, v := range list[:min(len(list), len(names))] {
		if err := finiteCell(i, names[j], v); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := finiteCell(i, name, object[name]); err != nil {
			return err
		}
	}
	return nil
}

// finiteCell returns an error if a cell, which is JSON, has a number that is beyond the range of numbers.
func finiteCell(row int, column string, cell json.RawMessage) error {
	var v any
	if json.Unmarshal(cell, &v) == nil {
		return nil
	}
	return fmt.Errorf("row %d (counting from 0), column %q: expected a finite number, found %s", row, column, short(string(cell)))
}

// cellText returns the text of a JSON value, as a CSV file has it.
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

// table returns the predictions as the columns of valla predict and, for a classification, the
// entropy. Classes are text here, also where their names are numbers.
func (a *answer) table(o listing.Options) (*listing.Predictions, error) {
	list, err := listing.Of(a.ctx, &a.p, o)
	if err != nil || a.v.classes() == nil {
		return list, err
	}
	best, _, _ := bestClass(a)
	h, _, _ := entropy(a)
	classes := len(a.p.Classes)
	list.Columns[0] = listing.Column{Name: "class", Texts: best.([]string)}
	list.Columns = slices.Insert(list.Columns, 1+classes, listing.Column{Name: "entropy", Values: h.([]float64)})
	return list, nil
}

// sendCSV answers with comma-separated text, one line for each row. A client that is gone is no
// error of the request.
func (q *request) sendCSV(table *listing.Predictions) error {
	q.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	q.w.Header().Set("X-Model-Version", q.hash)
	w := listing.NewWriter(q.w)
	if w.Header(table) == nil {
		_ = w.Rows(table)
	}
	return nil
}
