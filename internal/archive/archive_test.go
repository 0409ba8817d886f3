package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

type document struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values,omitempty"`
}

func vector[T float32 | float64](v ...T) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v))
}

// write returns an archive, or the first error of its Writer.
func write(fill func(w *Writer)) ([]byte, error) {
	var b bytes.Buffer
	w := NewWriter(&b)
	fill(w)
	err := w.Close()
	return b.Bytes(), err
}

func sample(t testing.TB) []byte {
	t.Helper()
	file, err := write(func(w *Writer) {
		w.JSON("head.json", document{"a", []float64{1, 2}})
		w.Array("x.npy", vector(1.5, -2, 3))
		w.Array("y.npy", vector(float32(4)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t testing.TB, file []byte) *Reader {
	t.Helper()
	a, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRoundTrip(t *testing.T) {
	a := open(t, sample(t))
	text, err := a.Text("head.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := Decode("head.json", text, &d); err != nil || d.Name != "a" || !slices.Equal(d.Values, []float64{1, 2}) {
		t.Errorf("document %+v, error %v", d, err)
	}
	if !a.Has("x.npy") || a.Has("head.json") || a.Has("none") {
		t.Error("Has does not tell what is still to be read")
	}
	x, err := a.Array("x.npy", tensor.Float64, 3)
	if err != nil || !slices.Equal(x.Float64s(), []float64{1.5, -2, 3}) {
		t.Errorf("array %v, error %v", x, err)
	}
	fixture.OneLine(t, a.Empty(), "y.npy", "not expected")
	if _, err := a.Array("y.npy", tensor.Float32, 1); err != nil {
		t.Error(err)
	}
	if err := a.Empty(); err != nil {
		t.Error(err)
	}
}

// Any arrays come back, to the last bit, in any order of reading.
func TestAnyArraysComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var arrays []*tensor.Dense
		for range rapid.IntRange(0, 5).Draw(t, "arrays") {
			shape := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "shape")
			n := tensor.Shape(shape).TotalSize()
			values := rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), n, n).Draw(t, "values")
			a := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
			if rapid.Bool().Draw(t, "float32") {
				narrow := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), n, n).Draw(t, "values")
				a = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(narrow))
			}
			arrays = append(arrays, a)
		}
		file, err := write(func(w *Writer) {
			for i, a := range arrays {
				w.Array(fmt.Sprint(i), a)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range slices.Backward(arrays) {
			want := arrays[i]
			got, err := a.Array(fmt.Sprint(i), want.Dtype(), want.Shape()...)
			if err != nil || !got.Eq(want) {
				t.Fatalf("array %d: %v, error %v", i, got, err)
			}
		}
		if err := a.Empty(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWriterErrors(t *testing.T) {
	for want, fill := range map[string]func(w *Writer){
		"a.npy: element 1 is NaN":            func(w *Writer) { w.Array("a.npy", vector(1, math.NaN())) },
		"a.npy: element 0 is -Inf":           func(w *Writer) { w.Array("a.npy", vector(float32(math.Inf(-1)))) },
		"a.npy: expected an array of float":  func(w *Writer) { w.Array("a.npy", tensor.New(tensor.WithBacking([]int{1}))) },
		"b.npy: expected an array of float":  func(w *Writer) { w.Array("b.npy", nil) },
		"a.json: json: unsupported type":     func(w *Writer) { w.JSON("a.json", make(chan int)) },
		"a.json: it is there twice":          func(w *Writer) { w.JSON("a.json", 1); w.JSON("a.json", 2) },
		"x: it is there twice":               func(w *Writer) { w.JSON("x", 1); w.Array("x", vector(1.0)) },
		"first.npy: element 0 is NaN":        func(w *Writer) { w.Array("first.npy", vector(math.NaN())); w.JSON("x", make(chan int)) },
		"second.npy: element 0 is NaN, expe": func(w *Writer) { w.JSON("x", 1); w.Array("second.npy", vector(math.NaN())); w.JSON("y", 1) },
	} {
		_, err := write(fill)
		fixture.OneLine(t, err, want)
	}
	w := NewWriter(&full{left: 40})
	for i := range 100 {
		w.Array(fmt.Sprint(i), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(1000)))
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the disk", err)
	}
}

// full stands for a disk on which left bytes are free.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// packed is an archive of members with bodies, made by hand.
func packed(t testing.TB, method uint16, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err == nil {
			_, err = io.WriteString(w, members[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenErrors(t *testing.T) {
	claims := packed(t, zip.Store, "a", "1234")
	// The sizes of a member stand 20 and 24 bytes into its entry of the directory.
	at := bytes.LastIndex(claims, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(claims[at+20:], 1<<30)
	binary.LittleEndian.PutUint32(claims[at+24:], 1<<30)
	for want, file := range map[string][]byte{
		"not a valid zip file": []byte("hello"),
		"zip":                  nil,
		"a: damaged, or a file of another kind: i": packed(t, zip.Store, "a", "1", "a", "2"),
		"it is compressed":                         packed(t, zip.Deflate, "a", "1"),
		"it claims 1073741824 bytes":               claims,
	} {
		a, err := Open(bytes.NewReader(file), int64(len(file)))
		fixture.OneLine(t, err, want)
		if a != nil || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: reader %v, error %v", want, a, err)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	file := sample(t)
	for want, read := range map[string]func(a *Reader) error{
		"none.json: ": func(a *Reader) error { _, err := a.Text("none.json"); return err },
		"none.npy: damaged, or a file of another kind": func(a *Reader) error { _, err := a.Array("none.npy", tensor.Float64, 1); return err },
		"missing": func(a *Reader) error { a.Text("head.json"); _, err := a.Text("head.json"); return err },
		"x.npy: ": func(a *Reader) error { _, err := a.Array("x.npy", tensor.Float64, 2); return err },
		"expected float32 of shape (3), found float64 of shape (3)": func(a *Reader) error { _, err := a.Array("x.npy", tensor.Float32, 3); return err },
		"expected float64 of shape (1, 3), found":                   func(a *Reader) error { _, err := a.Array("x.npy", tensor.Float64, 1, 3); return err },
		"head.json": func(a *Reader) error { _, err := a.Array("head.json", tensor.Float64, 1); return err },
	} {
		err := read(open(t, file))
		if fixture.OneLine(t, err, want); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", want, err)
		}
	}
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }")
	b.WriteString(strings.Repeat(" ", 128-b.Len()-1) + "\n")
	for _, v := range []float64{1, math.Inf(1)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	_, err := open(t, packed(t, zip.Store, "x", b.String())).Array("x", tensor.Float64, 2)
	if fixture.OneLine(t, err, "x: ", "element 1 is +Inf"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	_, err = open(t, packed(t, zip.Store, "x", b.String()[:b.Len()-1])).Array("x", tensor.Float64, 2)
	fixture.OneLine(t, err, "x: ")
	var d document
	for text, want := range map[string]string{`{"name":1}`: "number", `{"colour":"red"}`: `unknown field "colour"`, `{`: "EOF", ``: "EOF"} {
		if err := Decode("h.json", []byte(text), &d); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "h.json: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Members that lie over each other claim more together than the file has.
func TestOverlappingMembers(t *testing.T) {
	file := packed(t, zip.Store, "a", strings.Repeat("1", 300), "b", strings.Repeat("2", 300))
	size := uint32(len(file) - 100)
	for at, name := 0, 0; name < 2; name++ {
		at += bytes.Index(file[at:], []byte("PK\x01\x02"))
		binary.LittleEndian.PutUint32(file[at+20:], size)
		binary.LittleEndian.PutUint32(file[at+24:], size)
		at++
	}
	_, err := Open(bytes.NewReader(file), int64(len(file)))
	if fixture.OneLine(t, err, "b: ", "it claims"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// A flipped bit in a member's body does not pass: its checksum is verified.
func TestChecksums(t *testing.T) {
	file := sample(t)
	body := bytes.Index(file, []byte(`"name": "a"`))
	file[body+9] ^= 1
	_, err := open(t, file).Text("head.json")
	fixture.OneLine(t, err, "head.json", "checksum")
	file = sample(t)
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], math.Float64bits(1.5))
	file[bytes.Index(file, value[:])] ^= 1
	_, err = open(t, file).Array("x.npy", tensor.Float64, 3)
	if fixture.OneLine(t, err, "x.npy"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// An array that claims to be huge costs what its member holds.
func TestHugeClaims(t *testing.T) {
	head := "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (200000000000,), }"
	file := packed(t, zip.Store, "x", head+strings.Repeat(" ", 127-len(head))+"\n12345678")
	a := open(t, file)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := a.Array("x", tensor.Float64, 200000000000)
	runtime.ReadMemStats(&after)
	if fixture.OneLine(t, err, "x: "); after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("%d bytes allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

func FuzzOpen(f *testing.F) {
	file := sample(f)
	f.Add(file)
	f.Add(file[:len(file)-10])
	f.Add(packed(f, zip.Deflate, "x.npy", "1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		if text, err := a.Text("head.json"); err == nil && len(text) > len(file) {
			t.Errorf("%d bytes of text in %d", len(text), len(file))
		}
		if x, err := a.Array("x.npy", tensor.Float64, 3); err == nil {
			if i, _ := graph.FirstNonFinite(x); i >= 0 || x.Size() != 3 {
				t.Errorf("array %v", x)
			}
		}
		_ = a.Empty()
	})
}
