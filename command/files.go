package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// checkOut returns an error if the file that a flag names cannot be written, or if it is one of
// the given files, which would be lost. It is called before the work, so that the work is not
// lost either. Names of inputs may be empty.
func checkOut(flag, path string, others ...string) error {
	for _, other := range others {
		if other == "" || path == "" || !sameFile(path, other) {
			continue
		}
		if info, err := os.Stat(other); err == nil && info.IsDir() {
			other = "a file of the folder " + other + ", which is read"
		}
		return settings.Errorf("%s %s: it would replace %s, expected another file", flag, path, other)
	}
	if err := atomicfile.Try(path); err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, err)
	}
	return nil
}

// sameFile tells whether two paths stand for one file, or whether path is a file in the folder
// other. The files need not exist.
func sameFile(path, other string) bool {
	a, errA := os.Stat(path)
	b, errB := os.Stat(other)
	switch {
	case errA != nil && errB != nil:
		return resolved(path) == resolved(other)
	case errA != nil || errB != nil:
		return false
	case os.SameFile(a, b):
		return true
	}
	folder, err := os.Stat(filepath.Dir(path))
	return err == nil && os.SameFile(folder, b)
}

// resolved returns the path of a file that need not exist, in a form that can be compared.
func resolved(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// beside returns the path for a second file beside the file at path: m.part.valla for m.valla.
func beside(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".part" + ext
}
