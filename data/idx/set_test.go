package idx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data/image"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/fixture"
)

func TestReadSet(t *testing.T) {
	images := put(t, "images", file([]byte{0, 51, 102, 153, 204, 255}, 3, 1, 2))
	s, err := readSet(images, put(t, "labels", file([]byte{2, 0, 1}, 3)), 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Class(), []int{2, 0, 1}) {
		t.Errorf("labels %v, want 2 0 1", s.Class())
	}
	if s.N != 3 || s.C != 1 || s.H != 1 || s.W != 2 || s.Classes != 3 || !slices.Equal(s.Pixels, []uint8{0, 51, 102, 153, 204, 255}) {
		t.Errorf("the set is %+v", s)
	}
}

func TestReadSetErrors(t *testing.T) {
	images := put(t, "images", file(make([]byte, 6), 3, 1, 2))
	labels := put(t, "labels", file([]byte{2, 0, 1}, 3))
	high := put(t, "high", file([]byte{0, 1, 3}, 3))
	few := put(t, "few", fixture.Gzip(t, file([]byte{0, 1}, 2)))
	for name, c := range map[string]struct{ images, labels, at, say string }{
		"count":   {images, few, few, "byte 4: expected 3 labels, one for each image of " + images + ", found 2"},
		"range":   {images, high, high, "byte 10: expected a label of 0 to 2, found 3"},
		"swapped": {labels, images, labels, "byte 3: expected 3 dimension(s), found 1"},
		"twice":   {images, images, images, "byte 3: expected 1 dimension(s), found 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSet(c.images, c.labels, 3)
			if !errors.Is(err, ErrFormat) || s != nil {
				t.Fatalf("set %v, error %v, want %v", s, err, ErrFormat)
			}
			fixture.OneLineFrom(t, err, c.at+": ", c.say)
		})
	}
	if _, err := readSet(images, filepath.Join(t.TempDir(), "absent"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want a missing file", err)
	}
}

// Every byte is the correctly rounded quotient by 255 in the type asked for,
// which the obvious division gives.
func testValues[T image.Float](t *testing.T) {
	im := &image.Images{N: 4, H: 8, W: 8, Pixels: make([]uint8, 256)}
	for i := range im.Pixels {
		im.Pixels[i] = uint8(i)
	}
	d := Dense[T](im)
	if !d.Shape().Eq(tensor.Shape{4, 64}) {
		t.Fatalf("shape %v, want 4, 64", d.Shape())
	}
	values := d.Data().([]T)
	for i, v := range values {
		if want := T(i) / T(255); v != want {
			t.Errorf("%T: pixel %d is %g, want %g", v, i, v, want)
		}
	}
	if values[255] != 1 || values[51] != T(0.2) { // 51/255 = 1/5
		t.Errorf("%T: pixels 255 and 51 are %g and %g, want 1 and 0.2", values[0], values[255], values[51])
	}
}

func TestValues(t *testing.T) {
	testValues[float32](t)
	testValues[float64](t)
}

// folder holds the four files with n training images of 1×1 pixels, whose pixel
// and label is the number of the image modulo 10, and m×1 test images.
func folder(t *testing.T, n, m int) string {
	t.Helper()
	dir := t.TempDir()
	values := make([]byte, max(n, 2*m))
	for i := range values {
		values[i] = byte(i % 10)
	}
	for name, content := range map[string][]byte{
		"train-images-idx3-ubyte":   file(values[:n], uint32(n), 1, 1),
		"train-labels-idx1-ubyte":   file(values[:n], uint32(n)),
		"t10k-images-idx3-ubyte":    file(values[:2*m], 2, uint32(m), 1),
		"t10k-labels-idx1-ubyte.gz": fixture.Gzip(t, file(values[:2], 2)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSplits(t *testing.T) {
	dir := folder(t, 5003, 1)
	for name, read := range map[string]func(string) (*image.Splits, error){"0": MNIST, "T-shirt/top": FashionMNIST} {
		s, err := read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Train.N != 3 || s.Validation.N != 5000 || s.Test.N != 2 {
			t.Errorf("%d, %d, %d images, want 3, 5000, 2", s.Train.N, s.Validation.N, s.Test.N)
		}
		if !slices.Equal(s.Train.Pixels, []uint8{0, 1, 2}) || !slices.Equal(s.Validation.Labels[:2], []uint8{3, 4}) {
			t.Error("the validation set is not the last training images")
		}
		for _, part := range []*image.Set{s.Train, s.Validation, s.Test} {
			if part.Classes != 10 || len(part.Names) != 10 || part.Names[0] != name {
				t.Errorf("%d classes called %q", part.Classes, part.Names)
			}
		}
	}
}

func TestSplitsErrors(t *testing.T) {
	few, tall := folder(t, 5000, 1), folder(t, 5001, 2)
	_, err := MNIST(few)
	fixture.OneLineFrom(t, err, few+": ", "5000 training images, expected more than the 5000 for validation")
	_, err = MNIST(tall)
	fixture.OneLineFrom(t, err, tall+": ", "test images of 2×1 pixels, expected 1×1 like the training images")
	for _, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte.gz"} {
		dir := folder(t, 5001, 1)
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		s, err := FashionMNIST(dir)
		plain := strings.TrimSuffix(path, ".gz")
		want := fmt.Sprintf("no file %s or %s.gz: ", plain, plain)
		if s != nil || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that starts with %q", err, want)
		}
	}
}

// The counts are published. Fashion-MNIST has as many images of each class; the
// counts of MNIST's digits are the counts of its test set at
// http://yann.lecun.com/exdb/mnist/ as commonly tabulated (980 zeros, 1135 ones).
func TestFixtureMNIST(t *testing.T) {
	for _, c := range []struct {
		folder    string
		read      func(string) (*image.Splits, error)
		zero, one int // test images of the classes 0 and 1
	}{
		{"mnist", MNIST, 980, 1135},
		{"fashion-mnist", FashionMNIST, 1000, 1000},
	} {
		s, err := c.read(fixture.Shared(t, "data", c.folder))
		if err != nil {
			t.Fatal(err)
		}
		if s.Train.N != 55000 || s.Validation.N != 5000 || s.Test.N != 10000 || s.Test.H != 28 || s.Train.W != 28 {
			t.Errorf("%s: %d, %d, %d images", c.folder, s.Train.N, s.Validation.N, s.Test.N)
		}
		count := make([]int, s.Test.Classes)
		for _, class := range s.Test.Class() {
			count[class]++
		}
		if count[0] != c.zero || count[1] != c.one {
			t.Errorf("%s: %v test images of each class, want %d, %d, ...", c.folder, count, c.zero, c.one)
		}
	}
}

func BenchmarkFixtureReadImages(b *testing.B) {
	path := filepath.Join(fixture.Shared(b, "data", "fashion-mnist"), "train-images-idx3-ubyte.gz")
	for b.Loop() {
		if _, err := readFile(path, DecodeImages); err != nil {
			b.Fatal(err)
		}
	}
}
