package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// rows reads the list of methods.
func (r *reading) rows() error {
	seq, ok := r.methods.(*ast.SequenceNode)
	if !ok || len(seq.Values) == 0 {
		return r.fail(r.methods, "methods", "a list of methods")
	}
	r.e.Methods = nil
	for i, n := range seq.Values {
		row, err := r.row(n, fmt.Sprintf("methods[%d]", i))
		if err != nil {
			return err
		}
		if _, err := row.Variants(); err != nil {
			return &Error{File: r.file, Line: line(n), Key: fmt.Sprintf("methods[%d]", i), Expected: "settings that go together", Found: err.Error()}
		}
		r.e.Methods = append(r.e.Methods, row)
	}
	return nil
}

// row reads one of them.
func (r *reading) row(n ast.Node, key string) (row Row, err error) {
	entries, err := r.mapping(n, key)
	if err != nil {
		return row, err
	}
	var common, own, changes []entry
	for _, e := range entries {
		switch {
		case e.key == "profiles":
			if changes, err = r.changes(e, key); err != nil {
				return row, err
			}
		case settings.Lookup(&row, e.key) != nil:
			common = append(common, e)
		default:
			own = append(own, e)
		}
	}
	if err := r.fill(&row, common, key); err != nil {
		return row, err
	}
	if !slices.Contains(Methods(), row.Method) {
		return row, &Error{File: r.file, Line: line(n), Key: key + ".method", Expected: "one of the methods " + strings.Join(Methods(), ", "), Found: fmt.Sprintf("%q", row.Method)}
	}
	for _, e := range append(own, changes...) {
		if err := r.setting(&row, e, key); err != nil {
			return row, err
		}
	}
	return row, nil
}

// changes returns what a row changes under the profile that is read.
func (r *reading) changes(e entry, key string) ([]entry, error) {
	of, err := r.mapping(e.value, join(key, "profiles"))
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, p := range of {
		if !slices.Contains(r.e.Profiles, p.key) {
			return nil, r.fail(p.node, join(key, "profiles"), "one of the profiles "+strings.Join(r.e.Profiles, ", "))
		}
		entries, err := r.mapping(p.value, join(key, "profiles."+p.key))
		if err != nil {
			return nil, err
		}
		if p.key == r.e.Profile {
			out = entries
		}
	}
	return out, nil
}

// setting reads the values of a setting of a row's method.
func (r *reading) setting(row *Row, e entry, key string) error {
	var own gp.Settings
	names := []string(nil)
	if how, err := method.Lookup(row.Method); err == nil {
		own = how.New()
		names = settings.Names(own)
	}
	if !slices.Contains(names, e.key) {
		return r.fail(e.node, join(key, e.key), "one of the keys "+strings.Join(append(settings.Names(row), names...), ", "))
	}
	f := settings.Lookup(own, e.key)
	if f.IsList() {
		text, err := r.list(e.value, join(key, e.key), f)
		row.Set(e.key, text)
		return err
	}
	nodes := []ast.Node{e.value}
	if s, ok := e.value.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	var values []string
	for _, n := range nodes {
		text, err := r.scalar(n, join(key, e.key), f)
		if err != nil {
			return err
		}
		values = append(values, text)
	}
	if values == nil {
		return r.fail(e.value, join(key, e.key), "at least one value")
	}
	row.Set(e.key, values...)
	return nil
}

// label is the row's in tables: its own, or that which the method makes.
func (r Row) label(own string, inducing int) string {
	if r.Label == "" {
		return own
	}
	return strings.Replace(r.Label, "{}", fmt.Sprint(inducing), 1)
}
