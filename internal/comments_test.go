package internal_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComments: every package, and every exported name in it, has a comment. Files that a program
// has written are left out.
func TestComments(t *testing.T) {
	set, folders := parsed(t)
	for folder, files := range folders {
		p, err := doc.NewFromFiles(set, files, folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range uncommented(p) {
			t.Errorf("%s: %s has no comment", folder, name)
		}
	}
}

// parsed parses the files of every package, by its folder. Tests and files that a program has
// written are left out.
func parsed(t *testing.T) (*token.FileSet, map[string][]*ast.File) {
	t.Helper()
	folders, set := map[string][]*ast.File{}, token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || len(e.Name()) > 2 && e.Name()[0] == '.'):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], f)
		return nil
	})
	if err != nil || len(folders) < 40 {
		t.Fatalf("%d folders, error %v", len(folders), err)
	}
	return set, folders
}

// uncommented returns the names in a package that have no comment.
func uncommented(p *doc.Package) (out []string) {
	check := func(name, text string) {
		if text == "" {
			out = append(out, name)
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, s := range v.Decl.Specs {
				s := s.(*ast.ValueSpec)
				exported := slices.ContainsFunc(s.Names, func(n *ast.Ident) bool { return n.IsExported() })
				if exported && v.Doc == "" && s.Doc == nil && s.Comment == nil {
					out = append(out, s.Names[0].Name)
				}
			}
		}
	}
	functions := func(of string, list []*doc.Func) {
		for _, f := range list {
			check(of+f.Name, f.Doc)
		}
	}
	check("the package", p.Doc)
	values(slices.Concat(p.Consts, p.Vars))
	functions("", p.Funcs)
	for _, typ := range p.Types {
		check(typ.Name, typ.Doc)
		values(slices.Concat(typ.Consts, typ.Vars))
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
	}
	return out
}
