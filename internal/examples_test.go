package internal_test

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExamples: every package that others can import has an example that is run. Packages for
// tests need a running test, which an example has not.
func TestExamples(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,TestGoFiles,XTestGoFiles", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	found := 0
	for dec.More() {
		var p struct {
			ImportPath, Name, Dir              string
			Imports, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Name == "main" || p.Name == "command" || slices.Contains(strings.Split(p.ImportPath, "/"), "internal") || slices.Contains(p.Imports, "testing") || strings.HasSuffix(p.Name, "test") {
			continue
		}
		found++
		var files []*ast.File
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if !slices.ContainsFunc(doc.Examples(files...), func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput }) {
			t.Errorf("package %s has no example with an output", p.ImportPath)
		}
	}
	if found < 25 {
		t.Errorf("only %d packages found", found)
	}
}
