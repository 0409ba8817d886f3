package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Published cells come in the order of the names, and a file may be absent. A damaged file is an
// error that names the file and the line.
func TestReadPublished(t *testing.T) {
	text := func(experiment string, rows ...string) *fstest.MapFile {
		var cells []*Cell
		for _, row := range rows {
			cells = append(cells, &Cell{Experiment: experiment, ID: ID{Data: "d", Row: row}})
		}
		var b bytes.Buffer
		if err := WriteLines(&b, cells); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b.Bytes()}
	}
	folder := fstest.MapFS{"b.jsonl": text("b", "LLA"), "a.jsonl": text("a", "MAP", "VaLLA"), "other.txt": {Data: []byte("text")}}
	cells, err := ReadPublished(folder, []string{"b", "absent", "a"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		got = append(got, c.Experiment+" "+c.Row)
	}
	if strings.Join(got, ", ") != "b LLA, a MAP, a VaLLA" {
		t.Errorf("cells %q", got)
	}
	folder["a.jsonl"].Data = append(folder["a.jsonl"].Data, "{\n"...)
	if cells, err := ReadPublished(folder, []string{"b", "a"}); cells != nil || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "a.jsonl:3: ") {
		t.Errorf("a damaged file: %d cells, error %v", len(cells), err)
	}
	if cells, err := ReadPublished(os.DirFS(t.TempDir()), []string{"../a"}); err == nil {
		t.Errorf("a name outside the folder: %d cells", len(cells))
	}
}

// WriteFile writes all bytes or leaves the file, and names the package in its error.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, content := range []string{"first", "", "second"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, error %v, expected %q", got, err, content)
		}
	}
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil || !strings.HasPrefix(err.Error(), "result: ") {
		t.Errorf("a file below a file: %v", err)
	}
}
