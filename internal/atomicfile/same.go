package atomicfile

import (
	"os"
	"path/filepath"
)

// Same tells whether two paths stand for one file, or whether path is a file in the folder
// other. The files need not exist.
func Same(path, other string) bool {
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
