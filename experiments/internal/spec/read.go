package spec

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/go-valla/valla/experiments/internal/result"
)

// ReadFile reads a file under one of its profiles; "" means the first.
func ReadFile(path, profile string) (*Experiment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return Read(path, text, profile)
}

// Read reads the text of a file under one of its profiles. Errors name the file.
func Read(file string, text []byte, profile string) (*Experiment, error) {
	root, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	r := reading{decoder{file}, &Experiment{File: file}, nil, nil}
	if err := r.base(root); err != nil {
		return nil, err
	}
	if err := r.under(profile); err != nil {
		return nil, err
	}
	if r.e.Seeds == nil {
		r.e.Seeds = []uint64{0}
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	r.e.ShiftSeed = r.e.Seeds[0]
	return r.e, nil
}

// A file may have maxSize bytes, and its mappings and lists may stand in each other maxDepth deep.
// The largest experiment of the program has 2 kB and a depth of 4. The time of the
// parser grows as the square of the size, and its memory as the square of the depth.
const (
	maxSize  = 32 << 10
	maxDepth = 50
)

// checkSize refuses a text that is too long or too deep. Open brackets count wherever they stand,
// and so do two spaces, and a mark of a list or a key, before the text of a line.
func checkSize(file string, text []byte) error {
	if len(text) > maxSize {
		return &Error{File: file, Expected: fmt.Sprintf("at most %d bytes", maxSize), Found: fmt.Sprint(len(text))}
	}
	line, brackets, marks, indent, start := 1, 0, 0, 0, true
	for i, c := range text {
		last := i == len(text)-1 || text[i+1] == ' ' || text[i+1] == '\t'
		switch {
		case c == '\n' || c == '\r':
			marks, indent, start = 0, 0, true
			if c == '\n' {
				line++
			}
		case c == '[' || c == '{':
			brackets++
		case c == ']' || c == '}':
			brackets = max(0, brackets-1)
		case start && last && (c == '-' || c == '?'):
			marks++
		case c == ' ' && start:
			indent++
		default:
			start = false
		}
		if depth := brackets + marks + indent/2; depth > maxDepth {
			return &Error{File: file, Line: line, Expected: fmt.Sprintf("mappings and lists at most %d deep in each other", maxDepth), Found: "more"}
		}
	}
	return nil
}

// parse returns the document of a file that has one. The library panics on some broken documents.
func parse(file string, text []byte) (root ast.Node, err error) {
	if err := checkSize(file, text); err != nil {
		return nil, err
	}
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

// reading is the state of reading a file.
type reading struct {
	decoder
	e        *Experiment // the experiment as far as it is read
	methods  ast.Node    // the list of methods, which is read last
	profiles []entry     // the profiles, in the order of the file
}

// base reads the part that all profiles share, and keeps methods and profiles for later.
func (r *reading) base(root ast.Node) error {
	entries, err := r.mapping(root, "")
	if err != nil {
		return err
	}
	return r.entries(entries, "", func(e entry) (taken bool, err error) {
		if e.key == "profiles" {
			r.profiles, err = r.mapping(e.value, "profiles")
			if err == nil && len(r.profiles) == 0 {
				err = r.fail(e.value, "profiles", "at least one profile")
			}
			return true, err
		}
		return false, nil
	})
}

// entries reads the keys of the file or of a profile. special reads the keys that only the file or
// only a profile has, and reports whether it has read the entry.
func (r *reading) entries(entries []entry, key string, special func(entry) (bool, error)) error {
	var rest []entry
	for _, e := range entries {
		taken, err := special(e)
		if !taken && err == nil {
			switch e.key {
			case "methods":
				r.methods, taken = e.value, true
			case "network":
				taken, err = true, r.section(&r.e.Network, e, key)
			case "map":
				taken, err = true, r.section(&r.e.MAP, e, key)
			case "scoring":
				taken, err = true, r.section(&r.e.Scoring, e, key)
			}
		}
		if err != nil {
			return err
		}
		if !taken {
			rest = append(rest, e)
		}
	}
	return r.fill(r.e, rest, key, "methods", "network", "map", "scoring", "profiles")
}

// under applies a profile, and reads the methods.
func (r *reading) under(profile string) error {
	for _, p := range r.profiles {
		r.e.Profiles = append(r.e.Profiles, p.key)
	}
	if r.profiles == nil {
		r.e.Profiles = []string{FullProfile}
	}
	r.e.Profile = cmp.Or(profile, r.e.Profiles[0])
	i := slices.Index(r.e.Profiles, r.e.Profile)
	if i < 0 {
		return &Error{File: r.file, Key: "profiles", Expected: "one of the profiles " + strings.Join(r.e.Profiles, ", "), Found: fmt.Sprintf("%q", profile)}
	}
	if r.profiles != nil {
		if err := r.profile(r.profiles[i]); err != nil {
			return err
		}
	}
	if r.methods == nil {
		return &Error{File: r.file, Key: "methods", Expected: "a list of methods"}
	}
	return r.rows()
}

// profile applies the changes of a profile to the experiment.
func (r *reading) profile(p entry) error {
	key := "profiles." + p.key
	entries, err := r.mapping(p.value, key)
	if err != nil {
		return err
	}
	return r.entries(entries, key, func(e entry) (bool, error) {
		if e.key == "name" || e.key == "about" || e.key == "profiles" {
			return true, r.fail(e.node, join(key, e.key), "no "+e.key+" of its own in a profile")
		}
		return false, nil
	})
}

// complete refuses an experiment that lacks a part or has one twice.
func (r *reading) complete() error {
	e := r.e
	odd := slices.IndexFunc(e.Profiles, func(name string) bool { return !result.Plain(name) })
	switch {
	case e.Name == "":
		return &Error{File: r.file, Key: "name", Expected: "a name"}
	case !result.Plain(e.Name):
		return &Error{File: r.file, Key: "name", Expected: "lower-case letters, digits and hyphens", Found: fmt.Sprintf("%q", e.Name)}
	case odd >= 0:
		return &Error{File: r.file, Key: "profiles", Expected: "names of lower-case letters, digits and hyphens", Found: fmt.Sprintf("%q", e.Profiles[odd])}
	case len(e.Data) == 0:
		return &Error{File: r.file, Key: "data", Expected: "the names of data sets"}
	case repeated(e.Data):
		return &Error{File: r.file, Key: "data", Expected: "every data set once", Found: fmt.Sprint(e.Data)}
	case len(e.Seeds) == 0:
		return &Error{File: r.file, Key: "seeds", Expected: "at least one seed"}
	case !knownLikelihood(e.MAP.Likelihood):
		return &Error{File: r.file, Key: "map.likelihood", Expected: expectLikelihood(), Found: fmt.Sprintf("%q", e.MAP.Likelihood)}
	case repeated(e.Seeds):
		return &Error{File: r.file, Key: "seeds", Expected: "every seed once", Found: fmt.Sprint(e.Seeds)}
	}
	return e.CheckLabels()
}

func repeated[T cmp.Ordered](v []T) bool {
	s := slices.Sorted(slices.Values(v))
	return len(slices.Compact(s)) < len(v)
}
