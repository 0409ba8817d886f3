package internal_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostLines is the number of lines that a function may have.
const mostLines = 40

// leastDocumented is the share of the fields of structs that a package documents.
const leastDocumented = 0.8

// longAllowed are the functions, each with its folder, that are longer than mostLines. The list may
// only shrink.
var longAllowed = []string{
	"gp/gptest Passes",
	"gp/valla newNatural", "gp/valla Posterior.evidenceRoot", "gp/valla Restore", "graph compile",
	"layers/onnx external",
}

// fieldsAllowed are the packages that document less than leastDocumented of their fields. The
// list may only shrink.
var fieldsAllowed = []string{
	"beam", "experiments", "experiments/internal/report",
	"experiments/internal/result", "experiments/internal/runner", "experiments/internal/spec",
	"experiments/peer", "gp", "gp/ella", "gp/gapa", "gp/gptest", "gp/laplace", "gp/mfvi", "gp/moe",
	"gp/sampled", "gp/sfr", "gp/sngp", "gp/sum", "gp/task", "gp/valla", "graph", "graph/graphtest",
	"jacobian", "layers", "layers/layertest", "layers/onnx", "layers/onnx/onnxtest",
	"train", "train/metric",
}

// TestFunctionLength: no function of the project is longer than mostLines.
func TestFunctionLength(t *testing.T) {
	set, folders := sources(t)
	for folder, files := range folders {
		for _, f := range files {
			for _, d := range f.Decls {
				d, ok := d.(*ast.FuncDecl)
				if !ok || d.Body == nil {
					continue
				}
				name, n := folder+" "+functionName(d), lines(set, d)
				if n > mostLines && !slices.Contains(longAllowed, name) {
					t.Errorf("%s has %d lines, expected at most %d", name, n, mostLines)
				}
			}
		}
	}
}

// TestFieldComments: every package documents leastDocumented of the fields of its structs. A
// comment above a field or behind the field counts, and so does the tag of a setting with help.
func TestFieldComments(t *testing.T) {
	_, folders := sources(t)
	for folder, files := range folders {
		all, with := 0, 0
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok {
					a, w := documented(s)
					all, with = all+a, with+w
				}
				return true
			})
		}
		if float64(with) < leastDocumented*float64(all) && !slices.Contains(fieldsAllowed, folder) {
			t.Errorf("%s documents %d of %d fields, expected %.0f %%", folder, with, all, 100*leastDocumented)
		}
	}
}

// sources parses the files of every package, by its folder below the module. Tests and files that
// a program has written are left out.
func sources(t *testing.T) (*token.FileSet, map[string][]*ast.File) {
	t.Helper()
	set, folders := parsed(t)
	out := map[string][]*ast.File{}
	for folder, files := range folders {
		rel, err := filepath.Rel("..", folder)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(rel)] = files
	}
	return set, out
}

// functionName returns the name of a function, behind the type of its receiver.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// lines returns the number of lines of d, without the comment above it.
func lines(set *token.FileSet, d *ast.FuncDecl) int {
	return set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1
}

// documented returns how many named fields s has, and how many of these have a comment or help.
func documented(s *ast.StructType) (all, with int) {
	for _, f := range s.Fields.List {
		all += len(f.Names)
		if f.Doc != nil || f.Comment != nil || f.Tag != nil && strings.Contains(f.Tag.Value, "help:") {
			with += len(f.Names)
		}
	}
	return all, with
}
