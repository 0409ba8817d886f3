package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Pieces of pickles of protocol 2.
const (
	start   = "\x80\x02"
	ordered = "ccollections\nOrderedDict\n)R"
)

func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func integer(n int32) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func integers(v ...int32) string {
	s := "("
	for _, n := range v {
		s += integer(n)
	}
	return s + "t"
}

// view is the pickle of a tensor as PyTorch writes it.
func view(kind, key string, offset int32, shape, stride []int32) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + kind + "\n" + text(key) + text("cpu") + integer(1) + "tQ" +
		integer(offset) + integers(shape...) + integers(stride...) + "\x89" + ordered + "tR"
}

// archive is a file with a pickle and two storages.
func archive(t testing.TB, pickle string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	var floats []byte
	for i := range 6 {
		floats = binary.LittleEndian.AppendUint32(floats, math.Float32bits(float32(i)))
	}
	for _, m := range []struct {
		name string
		data []byte
	}{{"w/data.pkl", []byte(pickle)}, {"w/byteorder", []byte("little")}, {"w/data/0", floats}, {"w/data/1", []byte{0xc0, 0x3f, 0, 0xc0}}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dictionary is the pickle of a state dictionary.
func dictionary(items ...string) string { return ordered + "(" + strings.Join(items, "") + "u" }

var good = dictionary(
	text("a"), view("FloatStorage", "0", 0, []int32{2, 3}, []int32{3, 1}),
	text("b"), view("FloatStorage", "0", 1, []int32{2, 2}, []int32{1, 2}), // transposed, within a
	text("c"), view("BFloat16Storage", "1", 0, []int32{2}, []int32{1}),
	text("p"), "ctorch._utils\n_rebuild_parameter\n("+view("FloatStorage", "0", 5, nil, nil)+"\x88"+ordered+"tR",
)

func TestDecode(t *testing.T) {
	for name, pickle := range map[string]string{
		"state dictionary": start + good + ".",
		"with metadata":    start + good + "}" + text("_metadata") + ordered + "s" + "b.",
		"checkpoint":       start + "}(" + text("epoch") + "K\x07" + text("losses") + "](G\x3f\xf0\x00\x00\x00\x00\x00\x00Ne" + text("state_dict") + good + "u.",
		"protocol 4":       "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00" + strings.ReplaceAll(good, "ccollections\nOrderedDict\n", "\x8c\x0bcollections\x8c\x0bOrderedDict\x93\x94") + ".",
	} {
		file := archive(t, pickle)
		a, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := map[string]string{"a": "(2, 3) [0 1 2 3 4 5]", "b": "(2, 2) [1 3 2 4]", "c": "(2) [1.5 -2]", "p": "() 5"}
		for name := range want {
			v, ok := a.Get(name)
			if !ok || fmt.Sprint(v.Shape(), " ", v.Data()) != want[name] {
				t.Errorf("%q is %v of shape %v, want %s", name, v, v.Shape(), want[name])
			}
		}
		if !slices.Equal(a.Names, []string{"a", "b", "c", "p"}) {
			t.Errorf("%s: %q", name, a.Names)
		}
	}
}

// TestRepeated: a view may repeat elements, as PyTorch's expand does, also more often than the storage has elements.
func TestRepeated(t *testing.T) {
	file := archive(t, start+dictionary(text("a"), view("FloatStorage", "0", 1, []int32{4, 2}, []int32{0, 3}), text("b"), view("FloatStorage", "0", 2, []int32{7}, []int32{0}))+".")
	got, err := decode(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "(4, 2) [1 4 1 4 1 4 1 4]", "b": "(7) [2 2 2 2 2 2 2]"} {
		if v, _ := got.Get(name); fmt.Sprint(v.Shape(), " ", v.Data()) != want {
			t.Errorf("%q is %v of shape %v, want %s", name, v, v.Shape(), want)
		}
	}
}

func TestRefused(t *testing.T) {
	one := func(tensor string) string { return start + dictionary(text("a"), tensor) + "." }
	for name, c := range map[string]struct{ pickle, want string }{
		"code":               {start + "cos\nsystem\n(" + text("rm") + "tR.", `asks for "os.system"`},
		"code, protocol 4":   {"\x80\x04\x8c\x05posix\x8c\x06system\x93.", `asks for "posix.system"`},
		"a whole module":     {start + "c__main__\nNet\n)\x81.", `save model.state_dict()`},
		"an instance":        {start + "(i__main__\nNet\n.", "operation 0x69"},
		"a huge text":        {start + "X\xff\xff\xff\xff.", "4294967295 bytes expected"},
		"a huge text of 8":   {start + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "bytes expected"},
		"an empty stack":     {start + "0.", "empty stack"},
		"a tuple of none":    {start + "\x87.", "empty stack"},
		"no mark":            {start + "t.", "no mark"},
		"no memory":          {start + "h\x05.", "refers to value 5"},
		"no end":             {start + "}", "ends early"},
		"a name":             {start + "cos", "ends in a name"},
		"no value":           {start + "}(Nu.", "has no value"},
		"items of a number":  {start + "K\x01(NNu.", "items for a int64"},
		"a long integer":     {start + "\x8a\x09aaaaaaaaa.", "an integer of 9 bytes"},
		"no dictionary":      {start + "].", "expected a dictionary"},
		"attributes":         {start + "]Nb.", "attributes of something"},
		"a number":           {one("K\x01"), `"a" is a int64`},
		"a key":              {start + "}K\x01" + view("FloatStorage", "0", 0, nil, nil) + "s.", "a tensor with a int64 for a name"},
		"a name twice":       {start + dictionary(text("a"), view("FloatStorage", "0", 0, nil, nil), text("a"), view("FloatStorage", "0", 0, nil, nil)) + ".", "two arrays"},
		"another storage":    {one(view("ComplexFloatStorage", "0", 0, nil, nil)), "ComplexFloatStorage"},
		"no member":          {one(view("FloatStorage", "7", 0, nil, nil)), `no member "data/7"`},
		"lines in a member":  {one(view("FloatStorage", "a\nb", 0, nil, nil)), `"data/a\nb"`},
		"lines in a key":     {start + "}(" + text("a\nb") + "t" + view("FloatStorage", "0", 0, nil, nil) + "s.", "for a name"},
		"lines in a type":    {one(strings.Replace(view("FloatStorage", "0", 0, nil, nil), "ctorch\nFloatStorage\n", text("a\nb"), 1)), "data of a string, expected a storage"},
		"nested tuples":      {start + "(" + text("storage") + "N" + strings.Repeat("q\x00h\x00\x86", 20) + text("0") + "tQ.", "data of a torch.tuple, expected a storage"},
		"past the end":       {one(view("FloatStorage", "0", 3, []int32{4}, []int32{1})), "in 6 elements"},
		"an offset":          {one(view("FloatStorage", "0", 6, nil, nil)), "offset 6"},
		"negative":           {one(view("FloatStorage", "0", -1, []int32{2}, []int32{1})), "offset -1"},
		"a negative shape":   {one(view("FloatStorage", "0", 0, []int32{-2, -3}, []int32{1, 1})), "shape [-2 -3]"},
		"a negative stride":  {one(view("FloatStorage", "0", 5, []int32{2}, []int32{-1})), "strides [-1]"},
		"a huge shape":       {one(view("FloatStorage", "0", 0, []int32{1 << 30, 1 << 30}, []int32{0, 0})), "shape"},
		"a huge stride":      {one(view("FloatStorage", "0", 0, []int32{2, 2}, []int32{1 << 30, 1})), "strides"},
		"strides":            {one(view("FloatStorage", "0", 0, []int32{2}, nil)), "strides []"},
		"repeated too often": {one(view("FloatStorage", "0", 0, []int32{100, 100}, []int32{0, 0})), "shape [100 100]"},
		"a negative view":    {one(strings.TrimSuffix(view("FloatStorage", "0", 0, []int32{2}, []int32{1}), "tR") + "}" + text("neg") + "\x88stR"), "a tensor of numbers whose sign is stored apart, expected plain numbers; save copies, such as tensor.resolve_neg()"},
		"no elements":        {one(view("FloatStorage", "0", 0, []int32{0}, []int32{1})), "shape [0]"},
	} {
		file := archive(t, c.pickle)
		a, err := decode(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, error %v, want %q", name, a, err, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w.pt")
	if err := os.WriteFile(path, []byte(start+good+"."), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "before 1.6") {
		t.Errorf("no archive: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzPickle changes the pickle, before which no checksum stands.
func FuzzPickle(f *testing.F) {
	f.Add([]byte(start + good + "."))
	f.Add([]byte(start + "}(" + text("model") + good + "u."))
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01M\x01\x02\x88e."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		file := archive(t, string(pickle))
		a, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for _, name := range a.Names {
			if _, ok := a.Get(name); !ok {
				t.Errorf("%s is missing", name)
			}
		}
	})
}
