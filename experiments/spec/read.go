package spec

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Settings returns a pointer to a struct of a method's default settings, or nil where there
// is no method of that name.
type Settings func(method string) any

// Reader reads experiments.
type Reader struct {
	Settings Settings
	Methods  []string // for messages
}

// Defaults are what a file need not say.
func defaults() Experiment {
	return Experiment{
		Seeds:   []uint64{0},
		Network: Network{Form: "mlp", Hidden: []int{50, 50}, Activation: "tanh", Dtype: "float64"},
		MAP:     Training{Iterations: 5000, Batch: 100, Rate: 1e-2, WeightDecay: 1e-3, Schedule: "cosine", Every: 100},
	}
}

// ReadFile reads a file under one of its profiles; "" is the first.
func (r Reader) ReadFile(path, profile string) (*Experiment, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return r.Read(path, text, profile)
}

// Read reads the text of a file, called so in errors.
func (r Reader) Read(file string, text []byte, profile string) (*Experiment, error) {
	root, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	f := reading{decoder: decoder{file}, reader: r}
	if err := f.split(root); err != nil {
		return nil, err
	}
	return f.under(profile)
}

// parse returns the one document of a file. The library panics on some broken ones.
func parse(file string, text []byte) (root ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, &Error{File: file, Expected: "valid YAML", Found: fmt.Sprint(p)}
		}
	}()
	doc, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	if len(doc.Docs) != 1 || doc.Docs[0].Body == nil {
		return nil, &Error{File: file, Expected: "one YAML document", Found: fmt.Sprint(len(doc.Docs))}
	}
	return doc.Docs[0].Body, nil
}

// reading is a file taken apart.
type reading struct {
	decoder
	reader   Reader
	base     []entry // what Experiment holds
	methods  ast.Node
	profiles []entry
}

// split puts aside what the struct does not hold.
func (f *reading) split(root ast.Node) error {
	entries, err := f.mapping(root, "")
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.key {
		case "methods":
			f.methods = e.value
		case "profiles":
			if f.profiles, err = f.mapping(e.value, "profiles"); err != nil {
				return err
			}
		default:
			f.base = append(f.base, e)
		}
	}
	return nil
}

// under returns the experiment under a profile.
func (f *reading) under(profile string) (*Experiment, error) {
	e := defaults()
	e.File = f.file
	if err := f.structure(reflect.ValueOf(&e).Elem(), f.base, ""); err != nil {
		return nil, err
	}
	methods, override := f.methods, []entry(nil)
	for _, p := range f.profiles {
		e.Profiles = append(e.Profiles, p.key)
	}
	if profile == "" && len(e.Profiles) > 0 {
		profile = e.Profiles[0]
	}
	if profile != "" {
		i := slices.Index(e.Profiles, profile)
		if i < 0 {
			return nil, &Error{File: f.file, Key: "profiles", Expected: "one of the profiles " + strings.Join(e.Profiles, ", "), Found: fmt.Sprintf("%q", profile)}
		}
		own, err := f.profile(&e, f.profiles[i])
		if err != nil {
			return nil, err
		}
		if own.methods != nil {
			methods = own.methods
		}
		override = own.override
	}
	e.Profile = profile
	if methods == nil {
		return nil, &Error{File: f.file, Key: "methods", Expected: "a list of methods"}
	}
	if err := f.rows(&e, methods, override); err != nil {
		return nil, err
	}
	if err := f.complete(&e); err != nil {
		return nil, err
	}
	return &e, nil
}

// complete finds what has to be there and is not.
func (f *reading) complete(e *Experiment) error {
	switch {
	case e.Name == "":
		return &Error{File: f.file, Key: "name", Expected: "a name"}
	case strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return &Error{File: f.file, Key: "name", Expected: "lower-case letters, digits and hyphens", Found: fmt.Sprintf("%q", e.Name)}
	case len(e.Data) == 0:
		return &Error{File: f.file, Key: "data", Expected: "the names of data sets"}
	case repeated(e.Data):
		return &Error{File: f.file, Key: "data", Expected: "every data set once", Found: fmt.Sprint(e.Data)}
	case repeated(e.Seeds):
		return &Error{File: f.file, Key: "seeds", Expected: "every seed once", Found: fmt.Sprint(e.Seeds)}
	}
	return nil
}

func repeated[T cmp.Ordered](v []T) bool {
	s := slices.Sorted(slices.Values(v))
	return len(slices.Compact(s)) < len(v)
}

// profileParts are what a profile holds besides changes of the experiment.
type profileParts struct {
	methods  ast.Node
	override []entry // by method
}

// profile changes e as a profile says.
func (f *reading) profile(e *Experiment, p entry) (own profileParts, err error) {
	key := "profiles." + p.key
	entries, err := f.mapping(p.value, key)
	if err != nil {
		return own, err
	}
	var rest []entry
	for _, x := range entries {
		switch x.key {
		case "methods":
			own.methods = x.value
		case "override":
			if own.override, err = f.mapping(x.value, key+".override"); err != nil {
				return own, err
			}
		case "name", "about":
			return own, f.fail(x.node, join(key, x.key), "no name of its own in a profile")
		default:
			rest = append(rest, x)
		}
	}
	return own, f.structure(reflect.ValueOf(e).Elem(), rest, key)
}

// rows reads the list of methods and what the profile changes in them.
func (f *reading) rows(e *Experiment, list ast.Node, override []entry) error {
	seq, ok := list.(*ast.SequenceNode)
	if !ok || len(seq.Values) == 0 {
		return f.fail(list, "methods", "a list of methods")
	}
	for i, n := range seq.Values {
		row, err := f.row(n, fmt.Sprintf("methods[%d]", i))
		if err != nil {
			return err
		}
		for _, o := range override {
			if o.key != row.Method {
				continue
			}
			if err := f.value(reflect.ValueOf(row.Settings).Elem(), o.value, "override."+o.key, limits{}); err != nil {
				return err
			}
		}
		e.Methods = append(e.Methods, row)
	}
	for _, o := range override {
		if f.reader.Settings(o.key) == nil {
			return f.fail(o.node, "override."+o.key, "one of the methods "+strings.Join(f.reader.Methods, ", "))
		}
	}
	return nil
}

func (f *reading) row(n ast.Node, key string) (Row, error) {
	entries, err := f.mapping(n, key)
	if err != nil {
		return Row{}, err
	}
	var c common
	var own, rest []entry
	for _, e := range entries {
		if slices.ContainsFunc(fieldsOf(reflect.TypeFor[common]()), func(f field) bool { return f.key == e.key }) {
			own = append(own, e)
		} else {
			rest = append(rest, e)
		}
	}
	if err := f.structure(reflect.ValueOf(&c).Elem(), own, key); err != nil {
		return Row{}, err
	}
	settings := f.reader.Settings(c.Method)
	if settings == nil {
		return Row{}, &Error{File: f.file, Line: line(n), Key: key + ".method", Expected: "one of the methods " + strings.Join(f.reader.Methods, ", "), Found: fmt.Sprintf("%q", c.Method)}
	}
	return Row{c.Method, c.Label, c.Data, settings}, f.structure(reflect.ValueOf(settings).Elem(), rest, key)
}
