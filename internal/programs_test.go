package internal_test

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is the folder of the programs that the tests build.
var built string

// TestMain makes the folder of the programs and removes it.
func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "valla"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

var buildCommand sync.Once

// command returns the path of the command, which it builds once.
func command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(built, "valla")
	buildCommand.Do(func() { build(t, path, "../cmd/valla") })
	return path
}

// build builds the program in a folder. It leaves out tables for debuggers, which take long.
func build(t *testing.T, path, folder string) {
	t.Helper()
	execute(t, ".", "go", "build", "-ldflags=-w", "-o", path, folder)
}

// A program is a Go program of a document.
type program struct {
	name   string // the page and the place there
	source string // the file
}

// programs returns the programs of all documents.
func programs(t *testing.T) (all []program) {
	t.Helper()
	for _, page := range documents(t) {
		for i, source := range fenced(t, page, "go") {
			all = append(all, program{fmt.Sprint(filepath.Base(page), i), source})
		}
	}
	return all
}

// TestReadmePrograms compiles and runs every Go program of the documents.
func TestReadmePrograms(t *testing.T) {
	all := programs(t)
	if len(all) < 4 {
		t.Errorf("%d programs found", len(all))
	}
	bin := buildAll(t, all)
	for i, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if formatted, err := format.Source([]byte(p.source)); err != nil || string(formatted) != p.source {
				t.Errorf("gofmt would change the program, error %v", err)
			}
			if out := execute(t, "..", bin, fmt.Sprint(i)); len(out) == 0 {
				t.Error("the program printed nothing")
			}
		})
	}
}

// buildAll builds one program that runs the program of all with the number that is its argument.
// Linking one program takes less time than linking each. The folder of the sources is inside the
// module, and the dot hides it from ./....
func buildAll(t *testing.T, all []program) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", ".readme")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var imports, calls strings.Builder
	for i, p := range all {
		name := fmt.Sprint("p", i)
		source := strings.Replace(p.source, "package main\n", "package "+name+"\n", 1)
		write(t, filepath.Join(dir, name, name+".go"), strings.Replace(source, "\nfunc main() {", "\nfunc Main() {", 1))
		fmt.Fprintf(&imports, "%q\n", module+"/internal/"+filepath.ToSlash(filepath.Join(dir, name)))
		fmt.Fprintf(&calls, "%s.Main,", name)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\nimport (\n\"os\"\n\"strconv\"\n"+imports.String()+
		")\nfunc main() {\ni, _ := strconv.Atoi(os.Args[1])\n[]func(){"+calls.String()+"}[i]()\n}\n")
	path := filepath.Join(built, "programs")
	build(t, path, dir)
	return path
}

// write writes a file and makes its folder.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
