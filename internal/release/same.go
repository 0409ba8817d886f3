package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/atomicfile"
)

// released are the endings of the files that a release publishes.
var released = []string{".tar.gz", ".zip", ".whl", ".json", "checksums.txt", ".rb"}

// same compares the files of a release in two folders, and returns a line for each. A difference is an error.
func same(a, b string) (string, error) {
	first, err := sums(a)
	if err != nil {
		return "", err
	}
	second, err := sums(b)
	if err != nil {
		return "", err
	}
	text, differ, names := "", 0, maps.Clone(first)
	maps.Copy(names, second)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		state := "equal "
		if first[n] != second[n] {
			state = "DIFFER"
			differ++
		}
		text += fmt.Sprintf("%s %s\n", state, n)
	}
	switch {
	case differ > 0:
		return text, fmt.Errorf("%d of %d files differ", differ, len(names))
	case len(names) == 0:
		return text, fmt.Errorf("no archives in %s and %s", a, b)
	}
	return text, nil
}

// sums returns the SHA-256 sums of the files of a release in a folder, by their names there.
func sums(folder string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.ContainsFunc(released, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) {
			return err
		}
		if e.Name() == "artifacts.json" || e.Name() == "metadata.json" { // notes of goreleaser, with the time
			return nil
		}
		name, err := filepath.Rel(folder, path)
		if err == nil {
			out[filepath.ToSlash(name)], err = atomicfile.Digest(path)
		}
		return err
	})
	return out, err
}
