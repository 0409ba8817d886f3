package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Error describes a fault of a file and its place.
type Error struct {
	File     string // the name of the file
	Line     int    // from 1; 0 where the fault has no single line
	Key      string // such as "map.learning-rate"; "" where the whole file is at fault
	Expected string // what the file should have there
	Found    string // may be empty
}

// Error is one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	fmt.Fprintf(&b, ": expected %s", e.Expected)
	if e.Found != "" {
		fmt.Fprintf(&b, ", found %s", e.Found)
	}
	return strings.Map(printable, b.String())
}

// printable replaces characters that break a line.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
		return ' '
	}
	return r
}

// syntaxError returns an [Error] for err, an error of the YAML parser about the file.
func syntaxError(file string, err error) error {
	e := &Error{File: file, Expected: "valid YAML", Found: err.Error()}
	if y := yaml.Error(nil); errors.As(err, &y) {
		e.Found = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	return e
}

// line returns the line of a node, from 1, and 0 where it has none.
func line(n ast.Node) int {
	if n == nil {
		return 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// shown returns the text of a node for a message, cut to 40 bytes.
func shown(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	default:
		s := n.String()
		if len(s) > 40 {
			s = s[:40] + "…"
		}
		return fmt.Sprintf("%q", s)
	}
}
