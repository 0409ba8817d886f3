package cifar

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/internal/fixture"
)

// small is the layout of the tests: batches of 4, the last 2 for validation.
var small = layout{batch: 4, validation: 2}

func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// folder holds the batches with these numbers, every other one compressed, and
// the test batch (number 0). Batch i starts with image 4i.
func folder(t *testing.T, numbers ...int) string {
	t.Helper()
	dir := t.TempDir()
	for k, i := range numbers {
		name, content := batchName(i), batch(4*i, 4)
		if i == 0 {
			name = testName
		}
		if k%2 == 1 {
			name, content = name+".gz", fixture.Gzip(t, content)
		}
		put(t, dir, name, content)
	}
	return dir
}

// numbers tells the images of a set by their first pixels, 31 times the number.
func numbers(s *image.Set) (out []int) {
	for i := range s.N {
		out = append(out, int(s.Pixels[i*size]*223)) // 31·223 = 1 modulo 256
	}
	return out
}

func expectSplits(t *testing.T, s *image.Splits, train, validation, test []int) {
	t.Helper()
	for name, c := range map[string]struct{ got, want []int }{
		"train": {numbers(s.Train), train}, "validation": {numbers(s.Validation), validation},
		"test": {numbers(s.Test), test},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	for _, part := range []*image.Set{s.Train, s.Validation, s.Test} {
		for i, n := range numbers(part) {
			if int(part.Labels[i]) != n%classes {
				t.Errorf("image %d has the label %d", n, part.Labels[i])
			}
		}
	}
}

func TestSplits(t *testing.T) {
	s, err := small.read(folder(t, 0, 1, 2, 5))
	if err != nil {
		t.Fatal(err)
	}
	expectSplits(t, s, []int{4, 5, 6, 7, 8, 9, 10, 11, 20, 21}, []int{22, 23}, []int{0, 1, 2, 3})
	if s, err = small.read(folder(t, 5, 0)); err != nil {
		t.Fatal(err)
	}
	expectSplits(t, s, []int{20, 21}, []int{22, 23}, []int{0, 1, 2, 3})
}

func TestSplitsErrors(t *testing.T) {
	for _, c := range []struct {
		dir, lacks string
	}{{folder(t, 0, 1, 2), batchName(5)}, {folder(t, 1, 5), testName}} {
		s, err := small.read(c.dir)
		if s != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("splits %v, error %v, want %v", s, err, fs.ErrNotExist)
		}
		p := filepath.Join(c.dir, c.lacks)
		fixture.OneLineFrom(t, err, fmt.Sprintf("no file %s or %s.gz: ", p, p))
	}
	dir := folder(t, 0, 5)
	put(t, dir, batchName(3), batch(0, 3))
	_, err := small.read(dir)
	fixture.OneLineFrom(t, err, filepath.Join(dir, batchName(3))+": ", "record 3: expected 3073 bytes, found the end after 0")
	empty := t.TempDir()
	s, err := CIFAR10(empty)
	if s != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("splits %v, error %v, want %v", s, err, fs.ErrNotExist)
	}
	fixture.OneLineFrom(t, err, "no batches and no "+filepath.Join(empty, Archive))
}

// archive returns the published form with these batches (0 is the test batch).
func archive(t *testing.T, numbers ...int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	add := func(name string, content []byte) {
		h := &tar.Header{Name: "cifar-10-batches-bin/" + name, Mode: 0o644, Size: int64(len(content))}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	add("readme.html", []byte("<html>"))
	for _, i := range numbers {
		name := batchName(i)
		if i == 0 {
			name = testName
		}
		add(name, batch(4*i, 4))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fixture.Gzip(t, buf.Bytes())
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, Archive, archive(t, 3, 0, 5, 1, 2, 4))
	s, err := small.read(dir)
	if err != nil {
		t.Fatal(err)
	}
	expectSplits(t, s, []int{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21},
		[]int{22, 23}, []int{0, 1, 2, 3})
	// Batches beside it come first.
	put(t, dir, testName, batch(0, 4))
	if _, err := small.read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want batch 5 missing", err)
	}
}

func TestArchiveErrors(t *testing.T) {
	good := archive(t, 0, 1, 2, 3, 4, 5)
	checksum := slices.Clone(good)
	checksum[len(good)-8] ^= 1
	for name, c := range map[string]struct {
		content []byte
		say     string
	}{
		"empty":      {nil, "test_batch.bin, data_batch_1.bin"},
		"plain":      {[]byte("a page of some kind"), "unexpected EOF"},
		"no tar":     {fixture.Gzip(t, bytes.Repeat([]byte("x"), 2000)), "invalid tar header"},
		"lacks two":  {archive(t, 0, 1, 3, 5), "expected the batch(es) data_batch_2.bin, data_batch_4.bin, found none"},
		"cut":        {good[:len(good)/2], ""},
		"cut at end": {good[:len(good)-4], "the compressed data is cut off"},
		"checksum":   {checksum, "invalid checksum"},
	} {
		dir := t.TempDir()
		put(t, dir, Archive, c.content)
		s, err := small.read(dir)
		if s != nil || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: splits %v, error %v, want %v", name, s, err, ErrFormat)
		}
		fixture.OneLineFrom(t, err, filepath.Join(dir, Archive)+": ", c.say)
	}
}

func testValues[T image.Float](t *testing.T) {
	s, err := Decode(bytes.NewReader(batch(0, 4)), "x", 4)
	if err != nil {
		t.Fatal(err)
	}
	table := image.NewTable[T](Chenyaofo)
	d := Dense(&s.Images, table)
	if !d.Shape().Eq(tensor.Shape{4, 3, 32, 32}) {
		t.Fatalf("shape %v, want 4, 3, 32, 32", d.Shape())
	}
	values := d.Data().([]T)
	for _, i := range []int{0, 1023, 1024, 2048, size, 4*size - 1} {
		c := i / (side * side) % 3
		want := (T(s.Pixels[i])/255 - T(Chenyaofo.Mean[c])) / T(Chenyaofo.Std[c])
		if values[i] != want {
			t.Errorf("%T: value %d is %g, want %g", want, i, values[i], want)
		}
	}
	dst := make([]T, 3*size)
	Gather(dst, &s.Images, table, []int{3, 0, 3})
	if want := slices.Concat(values[3*size:], values[:size], values[3*size:]); !slices.Equal(dst, want) {
		t.Errorf("%T: images 3, 0, 3 differ from those of the tensor", dst[0])
	}
	hot := image.OneHot[T](s)
	if got := hot.Data().([]T); !hot.Shape().Eq(tensor.Shape{4, 10}) || got[0] != 1 || got[11] != 1 || got[1] != 0 {
		t.Errorf("%T: one-hot labels %v", dst[0], got)
	}
}

func TestValues(t *testing.T) {
	testValues[float32](t)
	testValues[float64](t)
}

// The authors' page says that the test batch has exactly 1,000 images of each
// class; its first labels (cat, ship, ship, airplane, frog) are those every
// tutorial shows. The means of all training images are commonly given as .4914,
// .4822, .4465; the moments of one batch come within .003.
func TestFixtureCIFAR10(t *testing.T) {
	s, err := CIFAR10(fixture.Shared(t, "data", "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.N%10000 != 5000 || s.Validation.N != 5000 || s.Test.N != 10000 {
		t.Errorf("%d, %d, %d images, want whole batches", s.Train.N, s.Validation.N, s.Test.N)
	}
	count := make([]int, classes)
	for _, c := range s.Test.Class() {
		count[c]++
	}
	if !slices.Equal(count, slices.Repeat([]int{1000}, classes)) {
		t.Errorf("test images of each class: %v", count)
	}
	if got := s.Test.Class()[:5]; !slices.Equal(got, []int{3, 8, 8, 0, 6}) {
		t.Errorf("first test labels %v", got)
	}
	for c, want := range Chenyaofo.Mean {
		sum := 0
		for i := range s.Train.N {
			for _, v := range s.Train.Pixels[i*size+c*side*side : i*size+(c+1)*side*side] {
				sum += int(v)
			}
		}
		if mean := float64(sum) / float64(s.Train.N*side*side) / 255; math.Abs(mean-want) > 0.003 {
			t.Errorf("mean of channel %d is %.4f, want about %.4f", c, mean, want)
		}
	}
}
