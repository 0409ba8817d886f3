package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/internal/raw"
)

// member is a file in an archive.
type member struct {
	name   string
	data   string
	method uint16 // zip.Store or zip.Deflate
}

// pack returns a zip archive of members.
func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// open writes file and reads it as a user does.
func open(t testing.TB, file []byte) (names []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.pt")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Read(path)
	if err != nil {
		if !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, expected one line that begins with the path", err)
		}
		return nil, err
	}
	return a.Names, nil
}

// TestArchives: an archive that PyTorch does not write is refused with its reason, and one in any
// folder, with members that are not needed, is read.
func TestArchives(t *testing.T) {
	one := start + dictionary(text("a"), view("ByteStorage", "0", 0, []int32{2}, []int32{1})) + "."
	for name, c := range map[string]struct {
		members []member
		want    string // "" for an archive that is read
	}{
		"any folder":      {[]member{{"some/data.pkl", one, zip.Store}, {"some/data/0", "ab", zip.Store}, {"some/version", "3\n", zip.Store}}, ""},
		"big endian":      {[]member{{"w/byteorder", "big", zip.Store}, {"w/data.pkl", one, zip.Store}}, `byte order "big", expected little`},
		"no pickle":       {[]member{{"w/data/0", "ab", zip.Store}}, `no member "data.pkl"`},
		"no folder":       {[]member{{"data.pkl", one, zip.Store}}, `no member "data.pkl"`},
		"a packed pickle": {[]member{{"w/data.pkl", one, zip.Deflate}}, `"data.pkl": compressed`},
		"packed data":     {[]member{{"w/data.pkl", one, zip.Store}, {"w/data/0", "ab", zip.Deflate}}, `"data/0": compressed`},
		"short data":      {[]member{{"w/data.pkl", one, zip.Store}, {"w/data/0", "a", zip.Store}}, `tensor "a": `},
		"no data":         {[]member{{"w/data.pkl", one, zip.Store}, {"w/data/0", "", zip.Store}}, `tensor "a": `},
		"an empty pickle": {[]member{{"w/data.pkl", "", zip.Store}}, "data.pkl: the pickle ends early"},
		"a huge pickle":   {[]member{{"w/data.pkl", strings.Repeat("N", maxPickle+1), zip.Store}}, "expected at most 8388608"},
	} {
		names, err := open(t, pack(t, c.members...))
		switch {
		case c.want == "" && (err != nil || !slices.Equal(names, []string{"a"})):
			t.Errorf("%s: %q, error %v", name, names, err)
		case c.want != "" && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestCutOff: a file that is cut off anywhere is refused.
func TestCutOff(t *testing.T) {
	file := archive(t, start+good+".")
	for n := 0; n < len(file); n += 7 {
		if names, err := decode(bytes.NewReader(file[:n]), int64(n)); err == nil {
			t.Errorf("%d of %d bytes are read as %v", n, len(file), names)
		}
	}
}

// TestChangedBytes: a byte of a tensor or of the pickle that is changed is found by the checksums
// of the archive.
func TestChangedBytes(t *testing.T) {
	file := archive(t, start+good+".")
	for _, what := range []string{"rebuild_parameter", "\x00\x00\x80\x3f"} {
		changed := slices.Clone(file)
		at := bytes.Index(file, []byte(what))
		if at < 0 {
			t.Fatalf("the file lacks %q", what)
		}
		changed[at+3] ^= 1
		if a, err := decode(bytes.NewReader(changed), int64(len(changed))); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%q changed: %v, error %v", what, a, err)
		}
	}
}

// TestTypes: the elements of every type of storage have their values.
func TestTypes(t *testing.T) {
	for kind, c := range map[string]struct{ data, want string }{
		"DoubleStorage":   {"\x00\x00\x00\x00\x00\x00\xf8\x3f", "[1.5]"},
		"FloatStorage":    {"\x00\x00\xc0\xbf", "[-1.5]"},
		"HalfStorage":     {"\x00\x3e", "[1.5]"},
		"BFloat16Storage": {"\xc0\xbf", "[-1.5]"},
		"LongStorage":     {"\xfe\xff\xff\xff\xff\xff\xff\xff", "[-2]"},
		"IntStorage":      {"\xfe\xff\xff\xff", "[-2]"},
		"ShortStorage":    {"\xfe\xff", "[-2]"},
		"CharStorage":     {"\xfe", "[-2]"},
		"ByteStorage":     {"\xfe", "[254]"},
		"BoolStorage":     {"\x01", "[1]"},
	} {
		pickle := start + dictionary(text("a"), view(kind, "0", 0, []int32{1}, []int32{1})) + "."
		file := pack(t, member{"w/data.pkl", pickle, zip.Store}, member{"w/data/0", c.data, zip.Store})
		a, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if v, _ := a.Get("a"); fmt.Sprint(v.Data()) != c.want {
			t.Errorf("%s: %v, want %s", kind, v.Data(), c.want)
		}
	}
	if len(kinds) != 10 {
		t.Errorf("%d types of storages, the test has 10", len(kinds))
	}
}

// TestViews: a view that lies within its storage has the elements that its offset, shape and
// strides name, and one that does not is an error.
func TestViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.IntRange(1, 40).Draw(t, "elements")
		data := make([]byte, elements)
		for i := range data {
			data[i] = byte(i)
		}
		v := stored{offset: rapid.IntRange(0, 5).Draw(t, "offset")}
		v.shape = rapid.SliceOfN(rapid.IntRange(1, 4), 0, 3).Draw(t, "shape")
		v.stride = rapid.SliceOfN(rapid.IntRange(0, 9), len(v.shape), len(v.shape)).Draw(t, "stride")
		want, inside := slow(v, data)
		const most = 40
		err := v.check(elements, most)
		if inside = inside && len(want) <= most; (err == nil) != inside {
			t.Fatalf("view %+v of %d elements: error %v, want one: %v", v, elements, err, !inside)
		}
		if err != nil {
			return
		}
		if got := raw.Gather(data, v.shape, v.stride, v.offset, 1); !bytes.Equal(got, want) {
			t.Errorf("view %+v: %v, want %v", v, got, want)
		}
	})
}

// slow returns the elements of a view by recursion over its axes, and whether all are in data.
func slow(v stored, data []byte) (out []byte, inside bool) {
	if len(v.shape) == 0 {
		if v.offset >= len(data) {
			return nil, false
		}
		return data[v.offset : v.offset+1], true
	}
	for i := range v.shape[0] {
		part, ok := slow(stored{offset: v.offset + i*v.stride[0], shape: v.shape[1:], stride: v.stride[1:]}, data)
		if !ok {
			return nil, false
		}
		out = append(out, part...)
	}
	return out, true
}

// TestExpandedViews: views that repeat few bytes cannot ask for more memory than the file has.
func TestExpandedViews(t *testing.T) {
	var items []string
	for i := range 400 {
		items = append(items, text(fmt.Sprint("t", i)), view("FloatStorage", "0", 0, []int32{6}, []int32{0}))
	}
	file := archive(t, start+dictionary(items...)+".")
	a, err := decode(bytes.NewReader(file), int64(len(file)))
	if err != nil || len(a.Names) != 400 {
		t.Fatalf("error %v", err)
	}
	m := &members{size: 100, files: map[string]*zip.File{}, name: "data/0", data: make([]byte, 24)}
	d := &dict{}
	for i := range 20 {
		d.set(fmt.Sprint(i), stored{storage{"torch.FloatStorage", "0"}, 0, []int{6}, []int{0}})
	}
	if _, err := m.arrays(d); err == nil || !strings.Contains(err.Error(), "more than 100 elements") {
		t.Errorf("120 elements of a file of 100 bytes: error %v", err)
	}
}
