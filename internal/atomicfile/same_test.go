package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSame: two paths of one file are the same, also before the file is there, and so are a folder and a file in it that is there.
func TestSame(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{os.Mkdir("d", 0o755), os.WriteFile("d/a", nil, 0o644), os.Link("d/a", "hard"), os.Symlink("d", "link")} {
		if err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		path, other string
		want        bool
	}{
		{"d/a", "link/a", true}, {"d/a", "hard", true}, {"d/new", "link/new", true}, {"d/a", "d", true}, {"d/a", "link", true},
		{"d/new", "d", false}, {"d/new", "d/a", false}, {"hard", "d", false}, {filepath.Join("d", "..", "hard"), "hard", true},
	} {
		if got := Same(c.path, c.other); got != c.want {
			t.Errorf("%s and %s: %v", c.path, c.other, got)
		}
	}
}
