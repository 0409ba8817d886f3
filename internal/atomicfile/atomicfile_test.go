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

// TestPermissions: a file keeps its permissions when it is replaced, and the umask holds for a new one.
func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	before := umask
	defer func() { umask = before }()
	umask = 0o077
	permissions := func(want os.FileMode) {
		t.Helper()
		if err := Write(path, 0o644, emit("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("permissions %v (%v), want %v", info.Mode(), err, want)
		}
	}
	permissions(0o600)
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	permissions(0o660)
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

// A thing that is no regular file is neither replaced nor written to, and a link stays a link.
func TestTargets(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{"": "expected the name of a file", dir: "it is a folder", os.DevNull: "device"} {
		for _, err := range []error{Write(path, 0o644, emit("x")), Try(path)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want %q in it", path, err, want)
			}
		}
	}
	file, link := filepath.Join(dir, "a.bin"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.bin", link); err != nil {
		t.Skip(err)
	}
	if err := Write(link, 0o644, emit("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v (%v)", info.Mode(), err)
	}
	if text, err := os.ReadFile(file); string(text) != "new" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

// Try returns the error that Write would return, and changes no file.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	if err := Try(path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, 0o644, emit("old")); err != nil {
		t.Fatal(err)
	}
	if err := Try(path); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "a.bin", "old")
	if err := Try(filepath.Join(dir, "absent", "a.bin")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want a missing folder", err)
	}
}

// What a killed process has left is removed, and what a living one writes is not.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, prefix+"1")
	for _, name := range []string{left, filepath.Join(dir, ".a.tmp-1")} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Write(filepath.Join(dir, "a.bin"), 0o644, func(w io.Writer) error {
		Sweep(dir)
		if _, err := os.Stat(left); err == nil {
			t.Error("the file of a killed process is still there")
		}
		return emit("new")(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".a.tmp-1" || entries[1].Name() != "a.bin" {
		t.Errorf("folder holds %v (%v), expected the new file and another program's", entries, err)
	}
}
