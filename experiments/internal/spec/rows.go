package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
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

// row reads one element of the list.
func (r *reading) row(n ast.Node, key string) (row Row, err error) {
	entries, err := r.mapping(n, key)
	if err != nil {
		return row, err
	}
	var common, own []entry
	var profiles *entry
	for _, e := range entries {
		switch {
		case e.key == "profiles":
			profiles = &e
		case settings.Lookup(&row, e.key) != nil:
			common = append(common, e)
		default:
			own = append(own, e)
		}
	}
	if err := r.fill(&row, common, key); err != nil {
		return row, err
	}
	if err := r.check(row, line(n), key); err != nil {
		return row, err
	}
	known := append(settings.Names(&row), "profiles")
	for _, e := range own {
		if err := r.setting(&row, e, key, known); err != nil {
			return row, err
		}
	}
	if profiles == nil {
		return row, nil
	}
	return row, r.changes(&row, *profiles, join(key, "profiles"))
}

// check refuses a method that does not exist, a row without data sets, and hyper-parameters
// that do not exist or that the method does not take.
func (r *reading) check(row Row, line int, key string) error {
	fail := func(name, expected, found string) error {
		return &Error{File: r.file, Line: line, Key: join(key, name), Expected: expected, Found: found}
	}
	switch {
	case !slices.Contains(Methods(), row.Method):
		return fail("method", "one of the methods "+strings.Join(Methods(), ", "), fmt.Sprintf("%q", row.Method))
	case row.Data != nil && len(row.Data) == 0:
		return fail("data", "the names of data sets", "none")
	case row.Likelihood != "" && row.Method == MAP:
		return fail("likelihood", "a method with a posterior", row.Method)
	case !knownLikelihood(row.Likelihood):
		return fail("likelihood", expectLikelihood(), fmt.Sprintf("%q", row.Likelihood))
	case row.HyperFrom == "":
		return nil
	case !slices.Contains(method.Names(), row.HyperFrom):
		return fail("hyper-from", "one of the methods "+strings.Join(method.Names(), ", "), fmt.Sprintf("%q", row.HyperFrom))
	case !row.Has("prior-std"):
		return fail("hyper-from", "a method with the setting prior-std", row.Method)
	}
	return nil
}

// knownLikelihood reports whether an observation model has the name; "" is one, too.
func knownLikelihood(name string) bool {
	return name == "" || slices.Contains(likelihood.Names(), name)
}

// expectLikelihood returns the part of a message that lists the observation models.
func expectLikelihood() string {
	return "one of the observation models " + strings.Join(likelihood.Names(), ", ")
}

// changes reads the changes of a row under each profile, and applies the changes of the profile that
// is read.
func (r *reading) changes(row *Row, e entry, key string) error {
	of, err := r.mapping(e.value, key)
	if err != nil {
		return err
	}
	for _, p := range of {
		if !slices.Contains(r.e.Profiles, p.key) {
			return r.fail(p.node, key, "one of the profiles "+strings.Join(r.e.Profiles, ", "))
		}
		entries, err := r.mapping(p.value, join(key, p.key))
		if err != nil {
			return err
		}
		to := &Row{Method: row.Method}
		if p.key == r.e.Profile {
			to = row
		}
		for _, e := range entries {
			if err := r.setting(to, e, join(key, p.key), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// setting reads the values of a setting of a row's method; others are known keys of the
// mapping that are not settings.
func (r *reading) setting(row *Row, e entry, key string, others []string) error {
	var own gp.Settings
	names := []string(nil)
	if how, err := method.Lookup(row.Method); err == nil {
		own = how.New()
		names = settings.Names(own)
	}
	if !slices.Contains(names, e.key) {
		return r.fail(e.node, join(key, e.key), expectKeys(append(others, names...)))
	}
	f := settings.Lookup(own, e.key)
	values, err := r.texts(e.value, join(key, e.key), f)
	switch {
	case err != nil:
		return err
	case f.IsList():
		values = []string{strings.Join(values, ",")}
	case values == nil:
		return r.fail(e.value, join(key, e.key), "at least one value")
	}
	row.Set(e.key, values...)
	return nil
}
