package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

type entry struct {
	name    string
	content []byte
}

// zipOf builds a compressed archive.
func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func decodeBytes(b []byte) (*Archive, error) {
	return DecodeArchive(bytes.NewReader(b), int64(len(b)), "m.npz")
}

func TestArchiveRoundTrip(t *testing.T) {
	var names []string
	var arrays []*tensor.Dense
	for name, d := range samples() {
		names, arrays = append(names, "layer.0."+name), append(arrays, d)
	}
	path := filepath.Join(t.TempDir(), "m.npz")
	if err := WriteArchive(path, names, arrays); err != nil {
		t.Fatal(err)
	}
	a, err := ReadArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Names, names) {
		t.Errorf("names %q, want %q", a.Names, names)
	}
	for i, name := range names {
		got, ok := a.Get(name)
		if !ok {
			t.Fatalf("no array %q", name)
		}
		same(t, got, arrays[i])
	}
	if _, ok := a.Get("absent"); ok {
		t.Error("an absent array was found")
	}
}

// NumPy finds NAME in the entry NAME.npy, stored uncompressed by savez.
func TestArchiveEntries(t *testing.T) {
	var buf bytes.Buffer
	w := dense([]int{1}, []float64{1})
	if err := EncodeArchive(&buf, []string{"W1"}, []*tensor.Dense{w}); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "W1.npy" || z.File[0].Method != zip.Store {
		t.Fatalf("entries %+v", z.File)
	}
	r, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var single bytes.Buffer
	if err := Encode(&single, w); err != nil || !bytes.Equal(content, single.Bytes()) {
		t.Errorf("the entry is not the .npy file (%v)", err)
	}
}

func TestArchiveErrors(t *testing.T) {
	good := file(1, dict("'|u1'", "False", "(1,)"), 7)
	flipped := zipOf(t, entry{"a.npy", good})
	flipped[bytes.Index(flipped, []byte("a.npy"))+10] ^= 0xff // inside the deflated data
	for name, c := range map[string]struct {
		file []byte
		say  string
	}{
		"no zip":    {[]byte("hello"), "no zip archive"},
		"truncated": {zipOf(t, entry{"a.npy", good})[:60], "no zip archive"},
		"flipped":   {flipped, `array "a"`},
		"foreign":   {zipOf(t, entry{"readme.txt", nil}), `entry "readme.txt", expected a name ending in .npy`},
		"twice":     {zipOf(t, entry{"a.npy", good}, entry{"a.npy", good}), `two arrays are called "a"`},
		"bad array": {zipOf(t, entry{"ok.npy", good}, entry{"b.npy", good[:len(good)-1]}), `array "b": malformed NumPy data: expected 1 bytes of data, found 0`},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := decodeBytes(c.file)
			if a != nil || err == nil {
				t.Fatalf("got %v, %v, want an error only", a, err)
			}
			if msg := err.Error(); !strings.HasPrefix(msg, "m.npz: ") || !strings.Contains(msg, c.say) {
				t.Errorf("error %q, want one from m.npz that says %q", msg, c.say)
			}
		})
	}
}

func TestWriteArchiveRefuses(t *testing.T) {
	one := dense([]int{1}, []float64{1})
	path := filepath.Join(t.TempDir(), "m.npz")
	for name, c := range map[string]struct {
		names  []string
		arrays []*tensor.Dense
		say    string
	}{
		"lengths": {[]string{"a"}, nil, "1 names"},
		"empty":   {[]string{""}, []*tensor.Dense{one}, "unique"},
		"twice":   {[]string{"a", "a"}, []*tensor.Dense{one, one}, "unique"},
		"type":    {[]string{"a", "b"}, []*tensor.Dense{one, dense([]int{1}, []int{1})}, `array "b"`},
	} {
		err := WriteArchive(path, c.names, c.arrays)
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q and the path in it", name, err, c.say)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was left behind (%v)", name, err)
		}
	}
}

func FuzzDecodeArchive(f *testing.F) {
	good := file(1, dict("'<f8'", "True", "(1, 1)"), make([]byte, 8)...)
	f.Add(zipOf(f, entry{"a.npy", good}))
	f.Add(zipOf(f, entry{"a.npy", good}, entry{"b.npy", good[:20]}))
	f.Add(zipOf(f))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := decodeBytes(in)
		if err != nil {
			if a != nil || !strings.HasPrefix(err.Error(), "m.npz: ") {
				t.Fatalf("got %v, %v", a, err)
			}
			return
		}
		for _, name := range a.Names {
			if _, ok := a.Get(name); !ok {
				t.Fatalf("array %q is listed but not there", name)
			}
		}
	})
}
