package spec

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decoder writes nodes of one file into Go values, which keep what the file does not say.
type decoder struct{ file string }

// fail is an error about a node.
func (d decoder) fail(n ast.Node, key, expected string) error {
	return &Error{File: d.file, Line: line(n), Key: key, Expected: expected, Found: shown(n)}
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	node  ast.Node // the key
	value ast.Node
}

// mapping returns the entries of a mapping in the order of the file.
func (d decoder) mapping(n ast.Node, key string) ([]entry, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, d.fail(n, key, "a mapping of keys to values")
	}
	var entries []entry
	for _, v := range values {
		name, ok := v.Key.(*ast.StringNode)
		if !ok {
			return nil, d.fail(v.Key, key, "a name as key")
		}
		if slices.ContainsFunc(entries, func(e entry) bool { return e.key == name.Value }) {
			return nil, d.fail(v.Key, join(key, name.Value), "every key once")
		}
		entries = append(entries, entry{name.Value, v.Key, v.Value})
	}
	return entries, nil
}

func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// structure sets the fields of the struct that v is from the entries of a mapping.
func (d decoder) structure(v reflect.Value, entries []entry, key string) error {
	fields := fieldsOf(v.Type())
	for _, e := range entries {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key })
		if i < 0 {
			return d.fail(e.node, join(key, e.key), "one of the keys "+keysOf(fields))
		}
		if err := d.value(v.FieldByIndex(fields[i].index), e.value, join(key, e.key), fields[i].limits); err != nil {
			return err
		}
	}
	return nil
}

// field is a field of a struct that a file may set.
type field struct {
	key    string
	index  []int
	limits limits
}

// fieldsOf lists them, those of embedded structs included.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" && key != "-" {
			fields = append(fields, field{key, f.Index, limitsOf(f.Tag)})
		}
	}
	return fields
}

func keysOf(fields []field) string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

// value sets v to what n says.
func (d decoder) value(v reflect.Value, n ast.Node, key string, l limits) error {
	switch v.Kind() {
	case reflect.Struct:
		entries, err := d.mapping(n, key)
		if err != nil {
			return err
		}
		return d.structure(v, entries, key)
	case reflect.Slice:
		return d.list(v, n, key, l)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem(), n, key, l)
	}
	return d.scalar(v, n, key, l)
}

// list sets v to the elements of a sequence; one value alone is a list of one.
func (d decoder) list(v reflect.Value, n ast.Node, key string, l limits) error {
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	if len(nodes) == 0 && !l.empty {
		return d.fail(n, key, "at least one element")
	}
	out := reflect.MakeSlice(v.Type(), len(nodes), len(nodes))
	for i, e := range nodes {
		if err := d.value(out.Index(i), e, fmt.Sprintf("%s[%d]", key, i), l); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d decoder) scalar(v reflect.Value, n ast.Node, key string, l limits) error {
	switch v.Kind() {
	case reflect.String:
		s, ok := n.(*ast.StringNode)
		if !ok || !l.chosen(s.Value) {
			return d.fail(n, key, cmp.Or(l.choices(), "text"))
		}
		v.SetString(s.Value)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.fail(n, key, "true or false")
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Uint64:
		i, ok := integer(n)
		if !ok || !l.holds(float64(i)) || v.Kind() == reflect.Uint64 && i < 0 {
			return d.fail(n, key, "an integer"+l.String())
		}
		if v.Kind() == reflect.Int {
			v.SetInt(i)
		} else {
			v.SetUint(uint64(i))
		}
	case reflect.Float64:
		f, ok := number(n)
		if !ok || !l.holds(f) {
			return d.fail(n, key, "a number"+l.String())
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("spec: a field of type %v cannot be set from a file", v.Type()))
	}
	return nil
}

// integer is the value of a node that is one, below 2⁵³ in size.
func integer(n ast.Node) (int64, bool) {
	f, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch i := f.Value.(type) {
	case int64:
		return i, i >= -1<<53 && i <= 1<<53
	case uint64:
		return int64(i), i <= 1<<53
	}
	return 0, false
}

// number is the value of a finite number. YAML 1.1 readers take 1e-3 for text.
func number(n ast.Node) (float64, bool) {
	switch n := n.(type) {
	case *ast.FloatNode:
		return n.Value, !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value)
	case *ast.StringNode:
		if n.Token == nil || n.Value != n.Token.Origin && strings.TrimSpace(n.Token.Origin) != n.Value {
			return 0, false // quoted
		}
		v, err := strconv.ParseFloat(n.Value, 64)
		return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	i, ok := integer(n)
	return float64(i), ok
}

// limits are what tags demand of a value.
type limits struct {
	min, max, above, below float64 // NaN: none
	choice                 []string
	empty                  bool // a list may be empty
}

func limitsOf(tag reflect.StructTag) limits {
	bound := func(name string) float64 {
		s, ok := tag.Lookup(name)
		if !ok {
			return math.NaN()
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(fmt.Sprintf("spec: tag %s: %v", name, err))
		}
		return v
	}
	return limits{bound("min"), bound("max"), bound("above"), bound("below"), strings.Fields(tag.Get("choice")), tag.Get("empty") == "true"}
}

// holds says whether a number is within the limits.
func (l limits) holds(v float64) bool {
	return !(v < l.min) && !(v > l.max) && !(v <= l.above) && !(v >= l.below)
}

// String continues "a number", such as " above 0, at most 1".
func (l limits) String() string {
	var s []string
	for _, b := range []struct {
		text  string
		bound float64
	}{{"at least", l.min}, {"above", l.above}, {"at most", l.max}, {"below", l.below}} {
		if !math.IsNaN(b.bound) {
			s = append(s, fmt.Sprintf("%s %g", b.text, b.bound))
		}
	}
	if s == nil {
		return ""
	}
	return " " + strings.Join(s, ", ")
}

func (l limits) chosen(s string) bool { return len(l.choice) == 0 || slices.Contains(l.choice, s) }

func (l limits) choices() string {
	if len(l.choice) == 0 {
		return ""
	}
	return "one of " + strings.Join(l.choice, ", ")
}
