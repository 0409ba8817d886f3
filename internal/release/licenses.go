package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// withoutVariable is the environment variable that allows a release without a licence.
const withoutVariable = "VALLA_RELEASE_WITHOUT_LICENSE"

// unlicensed is what archives say where the owner has chosen no licence.
const unlicensed = "The owner of valla has chosen no licence: there is no permission to copy, change or distribute this program. The licences of its dependencies are beside it.\n"

// licensed returns the licence of the project in a folder, or what archives say without one. Without a licence it is an
// error, unless the caller wants a release without.
func licensed(folder string, without bool) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "LICENSE"))
	switch {
	case err == nil:
		return string(text), nil
	case os.IsNotExist(err) && without:
		return unlicensed, nil
	case os.IsNotExist(err):
		return "", fmt.Errorf("there is no file LICENSE: the owner chooses a licence before a release, or %s=1 allows archives which say that there is none", withoutVariable)
	}
	return "", err
}

// platforms are those of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// dependency is a module in the program.
type dependency struct {
	Path    string      // of the module
	Version string      // such as v1.2.3
	Dir     string      // folder of its files
	Main    bool        // it is this module
	Replace *dependency // whose files are used instead; nil: its own
}

// dependencies returns the modules of which the program has packages on any platform, by their paths.
func dependencies(ctx context.Context) ([]dependency, error) {
	var all []dependency
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		out, err := output(ctx, ".", []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}, "go", "list", "-deps", "-tags", "noopenblas", "-json=Module", "./cmd/valla")
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(strings.NewReader(out)); ; {
			var p struct{ Module *dependency }
			if err := d.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main && !slices.ContainsFunc(all, func(o dependency) bool { return o.Path == m.Path }) {
				if m.Replace != nil {
					m.Dir = m.Replace.Dir
				}
				all = append(all, *m)
			}
		}
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// licenseFile matches the names of files with licences.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-._].*)?$`)

// licenses returns the licences of Go and of all modules in the program, one after the other. A module without one is an error.
func licenses(ctx context.Context) (string, error) {
	all, err := dependencies(ctx)
	if err != nil {
		return "", err
	}
	root, err := output(ctx, ".", nil, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("The program valla contains the Go runtime and library, and the modules below. Their licences follow.\n")
	for _, m := range append([]dependency{{Path: "The Go programming language", Dir: root}}, all...) {
		if err := addLicenses(&b, m); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// addLicenses writes the files with licences in the folder of a module.
func addLicenses(b *strings.Builder, m dependency) error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return fmt.Errorf("module %s: %w", m.Path, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "\n%s\n%s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.TrimSpace(m.Path+" "+m.Version), e.Name(), strings.Repeat("=", 80), strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if !found {
		return fmt.Errorf("module %s %s has no file with a licence in %s", m.Path, m.Version, m.Dir)
	}
	return nil
}
