package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/go-valla/valla/internal/settings"
)

// decoder turns nodes of one file into settings.
type decoder struct{ file string } // the name of the file in errors

// fail returns an error about a node.
func (d decoder) fail(n ast.Node, key, expected string) error {
	return &Error{File: d.file, Line: line(n), Key: key, Expected: expected, Found: shown(n)}
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string   // the key's text
	node  ast.Node // the key
	value ast.Node // the value
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

// expectKeys returns the part of a message that lists the keys that a mapping may have.
func expectKeys(names []string) string {
	if len(names) == 0 {
		return "no keys"
	}
	return "one of the keys " + strings.Join(names, ", ")
}

// section fills a struct from the mapping under a key.
func (d decoder) section(ptr any, e entry, key string) error {
	entries, err := d.mapping(e.value, join(key, e.key))
	if err != nil {
		return err
	}
	return d.fill(ptr, entries, join(key, e.key))
}

// fill sets the settings of the struct that ptr points to. Others are known keys of the
// mapping that are not settings of the struct.
func (d decoder) fill(ptr any, entries []entry, key string, others ...string) error {
	for _, e := range entries {
		f := settings.Lookup(ptr, e.key)
		if f == nil {
			return d.fail(e.node, join(key, e.key), expectKeys(append(settings.Names(ptr), others...)))
		}
		value := d.scalar
		if f.IsList() {
			value = d.list
		}
		text, err := value(e.value, join(key, e.key), f)
		if err != nil {
			return err
		}
		if err := f.Set(text); err != nil {
			return d.fail(e.value, join(key, e.key), err.Error())
		}
	}
	return nil
}

// list returns the elements of a sequence, joined by commas. A single value is a list of one.
func (d decoder) list(n ast.Node, key string, f *settings.Field) (string, error) {
	texts, err := d.texts(n, key, f)
	return strings.Join(texts, ","), err
}

// texts returns the elements of a sequence, or a single value, as texts.
func (d decoder) texts(n ast.Node, key string, f *settings.Field) (texts []string, err error) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		text, err := d.scalar(n, key, f)
		return []string{text}, err
	}
	for i, e := range s.Values {
		text, err := d.scalar(e, fmt.Sprintf("%s[%d]", key, i), f)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// scalar returns the value of a node as text, after trying whether the setting takes it.
func (d decoder) scalar(n ast.Node, key string, f *settings.Field) (string, error) {
	text := ""
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		text = n.GetToken().Value
	default:
		return "", d.fail(n, key, "a value")
	}
	if err := f.Try(text); err != nil {
		expected, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "expected "), ", found ")
		return "", d.fail(n, key, expected)
	}
	return text, nil
}
