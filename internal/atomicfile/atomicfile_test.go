package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// only fails the test unless dir holds exactly one file, with the given name and content.
func only(t *testing.T, dir, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Fatalf("folder holds %v, want only %s", entries, name)
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(got) != content {
		t.Fatalf("content %q (%v), want %q", got, err, content)
	}
}

func emit(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	for _, content := range []string{"first", "", strings.Repeat("long", 1<<20)} {
		if err := Write(path, 0o640, emit(content)); err != nil {
			t.Fatal(err)
		}
		only(t, dir, "a.bin", content)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v (%v), want 0640", info.Mode(), err)
	}
}

func TestFailureKeepsTheOldFile(t *testing.T) {
	broken := errors.New("broken writer")
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	if err := Write(path, 0o644, emit("old")); err != nil {
		t.Fatal(err)
	}
	err := Write(path, 0o644, func(w io.Writer) error {
		if err := emit("half of the new content")(w); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that wraps %v and names %s", err, broken, path)
	}
	only(t, dir, "a.bin", "old")
}

func TestPanicKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	if err := Write(path, 0o644, emit("old")); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = Write(path, 0o644, func(io.Writer) error { panic("bug") })
	}()
	only(t, dir, "a.bin", "old")
}

func TestMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "a.bin")
	called := false
	err := Write(path, 0o644, func(io.Writer) error { called = true; return nil })
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want a missing folder and %s", err, path)
	}
	if called {
		t.Error("content was produced for a folder that is not there")
	}
}

// A target that cannot be replaced fails at the rename, the last step.
func TestFailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "taken"), 0o644, emit("x")); err == nil {
		t.Fatal("a folder was replaced by a file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v (%v), want only the folder", entries, err)
	}
}
