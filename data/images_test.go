package data

import (
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/dense"
)

// writeImage writes an image of one colour and of h×w pixels.
func writeImage(t *testing.T, path string, h, w int, c color.Color) {
	t.Helper()
	img := image.NewNRGBA(image.Rect(3, 4, 3+w, 4+h))
	for y := range h {
		for x := range w {
			img.Set(3+x, 4+y, c)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if strings.HasSuffix(path, ".png") {
		err = png.Encode(f, img)
	} else {
		err = jpeg.Encode(f, img, &jpeg.Options{Quality: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readImages reads all images of a folder.
func readImages(folder string, shape ...int) (*Table, error) {
	s, err := TableReader{Image: shape}.openImages(folder, nil)
	if err != nil {
		return nil, err
	}
	return s.All(0)
}

func TestReadImages(t *testing.T) {
	dir := t.TempDir()
	red, blue := color.RGBA{200, 0, 0, 255}, color.RGBA{0, 0, 100, 255}
	writeImage(t, filepath.Join(dir, "b", "x.png"), 4, 6, red)
	writeImage(t, filepath.Join(dir, "a", "z.JPG"), 8, 8, blue)
	writeImage(t, filepath.Join(dir, "a", "y.png"), 2, 2, blue)
	for _, stray := range []string{"a/notes.txt", ".hidden", "a/x.webp"} {
		if err := os.WriteFile(filepath.Join(dir, stray), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table, err := readImages(dir, 3, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := dir + ": 1 images are neither PNG nor JPEG and were left out."; !slices.Equal(table.Notes, []string{want}) {
		t.Errorf("notes %q, expected %q", table.Notes, want)
	}
	if !slices.Equal(table.X.Shape(), []int{3, 3, 2, 3}) || !slices.Equal(table.Columns, []string{"class"}) || !slices.Equal(table.Values.Float64s(), []float64{0, 0, 1}) {
		t.Fatalf("%v, %q, %v", table.X.Shape(), table.Columns, table.Values)
	}
	s, err := TableReader{Image: []int{3, 2, 3}}.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at, err := s.Column(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	s.Use([]int{0, at}, []int{at})
	for i, want := range [][]string{{"a/y.png", "a/z.JPG"}, {"b/x.png"}} {
		some, err := s.Next(2)
		if err != nil {
			t.Fatal(err)
		}
		if got := some.Texts(1); !slices.Equal(got, want) || some.Values.Float64s()[0] != float64(i) {
			t.Errorf("batch %d: files %q, values %v, expected %q", i, got, some.Values, want)
		}
	}
	pixels := table.X.Uint8s()
	near := func(v uint8, want int) bool { return int(v) > want-4 && int(v) < want+4 }
	for k, want := range [][]int{{0, 0, 100}, {0, 0, 100}, {200, 0, 0}} {
		for i, v := range pixels[k*18 : (k+1)*18] {
			if !near(v, want[i/6]) {
				t.Errorf("image %d, element %d is %d, want %d", k, i, v, want[i/6])
			}
		}
	}
	if table, err = readImages(filepath.Join(dir, "b"), 1, 1, 1); err != nil || len(table.Columns) != 0 || !near(table.X.Uint8s()[0], 60) {
		t.Errorf("a grey image without a class: %v, error %v", table, err)
	}
}

// TestTransparent: a pixel keeps its colour however transparent it is.
func TestTransparent(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, filepath.Join(dir, "x.png"), 2, 2, color.NRGBA{200, 100, 50, 3})
	for channels, want := range map[int][]uint8{1: {124}, 3: {200, 100, 50}} { // Pillow's L of this colour is 124
		table, err := readImages(dir, channels, 1, 1)
		if err != nil || !slices.Equal(table.X.Uint8s(), want) {
			t.Errorf("%d channels: %v, expected %d; error %v", channels, table.X.Uint8s(), want, err)
		}
	}
}

// classFolders writes an image to each of the folders in a new folder.
func classFolders(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		writeImage(t, filepath.Join(dir, name, "x.png"), 2, 2, color.Gray{uint8(i)})
	}
	return dir
}

// TestImageClassesByName: the classes are the folders by their names, so that a folder that is left out or is called otherwise moves no
// image to another class.
func TestImageClassesByName(t *testing.T) {
	r := TableReader{Image: []int{1, 2, 2}}
	read := func(dir string) *Table {
		t.Helper()
		table, err := r.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	all := classFolders(t, "10", "2", "true", "True", "x")
	names := []string{"10", "2", "True", "true", "x"} // as folders are listed
	set, err := read(all).Encode(ColumnOptions{Classes: true})
	if err != nil || !slices.Equal(set.Labels, names) || !slices.Equal(set.Y.Float64s(), []float64{0, 1, 2, 3, 4}) {
		t.Fatalf("set %+v, error %v", set, err)
	}
	if set, err = read(all).Encode(ColumnOptions{}); err != nil || set.Labels != nil || !slices.Equal(set.Y.Float64s(), []float64{0, 1, 2, 3, 4}) {
		t.Errorf("a regression: %+v, error %v", set, err)
	}
	some := classFolders(t, "true", "x", "2")
	if y, err := read(some).Labels(0, names); err != nil || !slices.Equal(y.Float64s(), []float64{1, 3, 4}) {
		t.Errorf("classes %v of some folders, error %v", y, err)
	}
	other := classFolders(t, "2", "dog")
	_, err = read(other).Labels(0, names)
	expectError(t, err, other+": ", `column "class": expected one of the 5 classes "10", "2", "True", "true", "x", found the folder "dog"`)
	array := &Table{Path: "f.npz", Columns: []string{"y"}, Values: dense.Of([]float64{4, 0}, 2, 1), X: read(some).X}
	if y, err := array.Labels(0, names); err != nil || !slices.Equal(y.Float64s(), []float64{4, 0}) {
		t.Errorf("classes %v of an array, which has their places, error %v", y, err)
	}
}

// TestLinkedClassFolders: a linked folder is read as one, and a link to nothing is an error.
func TestLinkedClassFolders(t *testing.T) {
	dir, other := classFolders(t, "a", "c"), classFolders(t, "b")
	link := func(from, to string) {
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	link(filepath.Join(other, "b"), "b")
	link(filepath.Join(other, "b", "x.png"), filepath.Join("a", "y.png"))
	table, err := readImages(dir, 1, 2, 2)
	if err != nil || !slices.Equal(table.Folders, []string{"a", "b", "c"}) || !slices.Equal(table.Values.Float64s(), []float64{0, 0, 1, 2}) {
		t.Fatalf("table %+v, error %v", table, err)
	}
	link("nothing", "d")
	_, err = readImages(dir, 1, 2, 2)
	expectError(t, err, "", filepath.Join(dir, "d"))
}

// TestDrawImageClasses: classes of several folders are put together by their names, too.
func TestDrawImageClasses(t *testing.T) {
	first, second := classFolders(t, "b", "c"), classFolders(t, "a", "c")
	s, err := TableReader{Image: []int{1, 2, 2}}.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, _, err := s.Draw(t.Context(), Draw{Rest: []string{second}, Rows: 10})
	if err != nil || !slices.Equal(table.Folders, []string{"a", "b", "c"}) || !slices.Equal(table.Values.Float64s(), []float64{1, 2, 0, 2}) {
		t.Errorf("table %+v, error %v", table, err)
	}
}

func TestReadImagesErrors(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, filepath.Join(dir, "mixed", "x.png"), 2, 2, color.Black)
	writeImage(t, filepath.Join(dir, "mixed", "a", "x.png"), 2, 2, color.Black)
	for path, text := range map[string]string{"broken/x.png": "no image", "empty/x.txt": "text", "classes/a/x.txt": "text"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]string{
		"mixed": "images beside the folder", "broken": "x.png: image: unknown format", "empty": "no images", "none": "no such file", "classes": "0 images and 0 folders",
	} {
		if table, err := readImages(filepath.Join(dir, folder), 3, 2, 2); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, error %v, want %q", folder, table, err, want)
		}
	}
	if _, err := readImages(dir, 2, 2, 2); err == nil {
		t.Error("two channels are accepted")
	}
}

// TestImagesInBatches: a folder is read batch by batch, so that memory does not grow with it, and a folder that does not fit into
// memory is refused before an image is read.
func TestImagesInBatches(t *testing.T) {
	dir := t.TempDir()
	for k := range 7 {
		writeImage(t, filepath.Join(dir, string(rune('a'+k%2)), string(rune('p'+k))+".png"), 2, 2, color.Gray{uint8(10 * k)})
	}
	r := TableReader{Image: []int{1, 2, 2}}
	want, err := r.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var pixels []uint8
	var classes []float64
	for {
		b, err := s.Next(3)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || b.N() > 3 {
			t.Fatalf("%d images, error %v", b.N(), err)
		}
		pixels, classes = append(pixels, b.X.Uint8s()...), append(classes, b.Values.Float64s()...)
	}
	if !slices.Equal(pixels, want.X.Uint8s()) || !slices.Equal(classes, want.Values.Float64s()) || want.N() != 7 {
		t.Errorf("batches have the images %v of classes %v, want %v of %v", pixels, classes, want.X.Uint8s(), want.Values)
	}
	large := TableReader{Image: []int{3, 1 << 13, 1 << 13}}
	if s, err = large.Open(dir); err != nil {
		t.Fatal(err)
	}
	_, err = s.All(1 << 20)
	expectError(t, err, dir+": ", "take a part of the rows")
	if _, err := (TableReader{Image: []int{3, 1 << 40, 1 << 40}}).Open(dir); err == nil {
		t.Error("images beyond all memory are accepted")
	}
}
