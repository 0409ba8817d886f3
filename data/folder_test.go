package data

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	t.Setenv(FolderVariable, filepath.Join("some", "where"))
	if dir, err := Folder(); err != nil || dir != filepath.Join("some", "where") {
		t.Errorf("folder %q (%v), want the variable's", dir, err)
	}
	t.Setenv(FolderVariable, "")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	dir, err := Folder()
	if want := filepath.Join(cache, "valla", "data"); err != nil || dir != want {
		t.Errorf("folder %q (%v), want %q", dir, err, want)
	}
}

// Without a home there is no cache folder; the error says which variable helps.
func TestNoFolder(t *testing.T) {
	t.Setenv(FolderVariable, "")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, "")
	}
	_, err := Folder()
	expectError(t, err, "no folder for data sets", FolderVariable)
}
