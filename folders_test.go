package valla

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
)

// imageFolders writes an image to each of the folders in a new folder.
func imageFolders(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for k, name := range names {
		img := image.NewGray(image.Rect(0, 0, 2, 2))
		img.SetGray(1, 1, color.Gray{uint8(10 * k)})
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, name, "x.png"))
		if err == nil {
			err = png.Encode(f, img)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return dir
}

// TestFoldersByName: a model that knows the names of folders finds the classes by them. A model that does not takes the first folder for
// class 0, and says so where there are fewer folders than classes.
func TestFoldersByName(t *testing.T) {
	named := &task.Classification{Name: "class", Classes: []float64{0, 1, 2}, Names: []string{"a", "b", "c"}}
	numbered := &task.Classification{Name: "class", Classes: []float64{0, 1, 2}}
	for _, c := range []struct {
		of      *task.Classification
		folders []string
		want    []float64 // nil for an error
		say     string    // in the note or the error
	}{
		{named, []string{"a", "b", "c"}, []float64{0, 1, 2}, ""},
		{named, []string{"c", "a"}, []float64{0, 2}, ""},
		{named, []string{"b", "dog"}, nil, `expected one of the 3 classes "a", "b", "c", found the folder "dog"`},
		{numbered, []string{"a", "b", "c"}, []float64{0, 1, 2}, ""},
		{numbered, []string{"a", "c"}, []float64{0, 1}, "2 folders for 3 classes"},
	} {
		m, dir := &Model{Task: task.Task{Inputs: task.Inputs{Shape: []int{1, 2, 2}}, Outputs: c.of}}, imageFolders(t, c.folders...)
		parts, err := data.Divide([]string{dir}, 1)
		if err != nil || len(parts) != 1 {
			t.Fatalf("parts %v, error %v", parts, err)
		}
		for _, part := range append(parts, data.Part{Path: dir}) {
			rows, err := m.Open(data.TableReader{}, part, true)
			if err != nil {
				t.Fatal(err)
			}
			set, err := rows.All(0)
			switch notes := strings.Join(rows.Notes(), "\n"); {
			case c.want == nil:
				oneLine(t, err, dir+": ", c.say)
			case err != nil || !slices.Equal(set.Y.Float64s(), c.want) || !slices.Equal(set.Labels, c.of.Names):
				t.Errorf("folders %q: set %+v, error %v, want the classes %v", c.folders, set, err, c.want)
			case (notes == "") != (c.say == "") || !strings.Contains(notes, c.say):
				t.Errorf("folders %q: notes %q, want %q", c.folders, notes, c.say)
			}
			rows.Close()
		}
	}
}
