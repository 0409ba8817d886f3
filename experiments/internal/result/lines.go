package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/go-valla/valla/internal/strictjson"
)

// WriteLines writes cells in the compact form in which results are published: a line of JSON
// for each, with numbers rounded to six digits.
func WriteLines(w io.Writer, cells []*Cell) error {
	for _, c := range cells {
		text, err := compact(c)
		if err != nil {
			return fmt.Errorf("result: %s: %w", c.Name(), err)
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

// compact returns v as JSON with rounded numbers.
func compact(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all any
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	return json.Marshal(rounded(all))
}

// rounded rounds all fractions in a JSON value to six digits. Integers stay as they are.
func rounded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = rounded(v[k])
		}
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return json.Number(strconv.FormatFloat(f, 'g', 6, 64))
		}
	}
	return v
}

// ReadLines reads what WriteLines writes. The name stands in errors, which name the line and
// wrap ErrDamaged.
func ReadLines(name string, r io.Reader) ([]*Cell, error) {
	var cells []*Cell
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxSize)
	line := 1
	for ; s.Scan(); line++ {
		c := &Cell{}
		err := strictjson.Decode(s.Bytes(), c)
		if err == nil && (c.Experiment == "" || c.Data == "" || c.Row == "") {
			err = errors.New("a cell without experiment, data set or row")
		}
		if err != nil {
			return nil, fmt.Errorf("result: %s:%d: %w: %w", name, line, ErrDamaged, err)
		}
		cells = append(cells, c)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("result: %s:%d: %w: %w", name, line, ErrDamaged, err)
	}
	return cells, nil
}

// ReadPublished reads the published cells of experiments. The file NAME.jsonl of the folder has the
// cells of the experiment NAME. A file may be absent.
func ReadPublished(folder fs.FS, names []string) (all []*Cell, err error) {
	for _, name := range names {
		file := name + ".jsonl"
		f, err := folder.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
		cells, err := ReadLines(file, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, cells...)
	}
	return all, nil
}

// Group makes plans of published cells: one for each experiment and profile, in the order in
// which they come, with the cells that there are and no others.
func Group(cells []*Cell) []Found {
	var all []Found
	for _, part := range Grouped(cells, func(c *Cell) [2]string { return [2]string{c.Experiment, c.Profile} }) {
		f := Found{Plan: Plan{Experiment: part[0].Experiment, Profile: part[0].Profile}, Done: part}
		for _, c := range part {
			f.Commands, f.Data = Union(f.Commands, c.command()), Union(f.Data, c.Data)
			f.Cells = append(f.Cells, c.ID)
		}
		all = append(all, f)
	}
	return all
}

// command is the command line that computes the cell.
func (c *Cell) command() string {
	command := fmt.Sprintf("valla experiment run %s --profile %s", c.Experiment, c.Profile)
	if net, ok := strings.CutPrefix(c.Data, c.Experiment+"-"); ok {
		command += " --net " + net
	}
	return command
}
