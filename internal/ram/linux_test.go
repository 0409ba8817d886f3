//go:build linux

package ram

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// write writes files by their names to a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGroup: a control group leaves its limit less its use, but its cache of files can go.
func TestGroup(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  int64
	}{
		{map[string]string{"max": "1000\n", "now": "600\n", "memory.stat": "anon 300\ninactive_file 150\n"}, 550},
		{map[string]string{"max": "1000\n", "now": "600\n"}, 400},
		{map[string]string{"max": "1000\n", "now": "1200\n"}, -200},
		{map[string]string{"max": "max\n", "now": "600\n"}, math.MaxInt64},
		{map[string]string{"max": "1000\n"}, math.MaxInt64},
		{nil, math.MaxInt64},
	} {
		if got := group(write(t, c.files), "max", "now", "inactive_file"); got != c.want {
			t.Errorf("%v: %d bytes are left, want %d", c.files, got, c.want)
		}
	}
}

// TestField: the number behind the whole name counts, and a word is none.
func TestField(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"f": "MemAvailableX: 1 kB\nMemAvailable: 20 kB\nMemAvailable: 3 kB\nWord: x\nNone:\n"}), "f")
	if v, ok := Field(path, "MemAvailable:"); !ok || v != 20 {
		t.Errorf("%d, found %v", v, ok)
	}
	for _, name := range []string{"Word:", "None:", "Mem"} {
		if v, ok := Field(path, name); ok {
			t.Errorf("%s is %d", name, v)
		}
	}
	if _, ok := Field(path+"x", "MemAvailable:"); ok {
		t.Error("a file that is not there has a field")
	}
}

// TestGroups: the folders of the process end at the root of a hierarchy.
func TestGroups(t *testing.T) {
	last := ""
	for _, last = range groups() {
		if rel, err := filepath.Rel("/sys/fs/cgroup", last); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s is no folder of control groups", last)
		}
	}
	if last != "" && last != "/sys/fs/cgroup" && last != "/sys/fs/cgroup/memory" {
		t.Errorf("the last folder is %s, expected the root of a hierarchy", last)
	}
}
