// Portable checks the types of packages and of all that they import for other systems and processors. It neither compiles nor
// reads the bodies of functions outside of this module, so that it takes a small part of the time of go vet with an empty cache.
//
//	go run ./internal/portable windows/amd64,darwin/arm64 ./cmd/valla ./command
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "portable: expected systems, such as windows/amd64,darwin/arm64, and packages")
		os.Exit(2)
	}
	for _, system := range strings.Split(os.Args[1], ",") {
		if err := check(system, os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "portable: %s: %v\n", system, err)
			os.Exit(1)
		}
	}
}

// check loads packages for a system such as windows/amd64, without cgo.
func check(system string, patterns []string) error {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("expected a system and a processor, such as windows/amd64")
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := packages.Load(&packages.Config{
		Mode:      packages.LoadAllSyntax | packages.NeedModule,
		Env:       append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		ParseFile: func(s *token.FileSet, path string, src []byte) (*ast.File, error) { return parse(here, s, path, src) },
	}, patterns...)
	if err != nil {
		return err
	}
	wrong := 0
	packages.Visit(all, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main { // without bodies their imports are unused
			return
		}
		for _, e := range p.Errors {
			fmt.Fprintln(os.Stderr, e)
			wrong++
		}
	})
	if wrong > 0 || len(all) == 0 {
		return fmt.Errorf("%d errors", wrong)
	}
	return nil
}

// parse reads a file, without the bodies of functions if it lies outside of this module.
func parse(here string, s *token.FileSet, path string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(s, path, src, parser.SkipObjectResolution)
	if rel, outside := filepath.Rel(here, path); file == nil || outside == nil && !strings.HasPrefix(rel, "..") {
		return file, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}
