package data

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/npy"
)

// TestUsual: the usual cell of a column is a cell that the column can read.
func TestUsual(t *testing.T) {
	table, err := decodeText([]byte("n,d,b,c,y\n1,2024-01-01,yes,x,0\n3,2024-01-03,no,y,1\n2,2024-01-02,yes,x,0\n5,2024-01-05,no,y,1\n4,2024-01-04,yes,x,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := table.Encode(ColumnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"3", "2024-01-03", "no", "x"}
	for i, c := range set.Encoding.Columns {
		if got := c.Usual(); got != want[i] {
			t.Errorf("column %s (%s): %q, want %q", c.Name, c.Kind, got, want[i])
		}
	}
}

// TestOpenText: a text that is no file is read like a file, and its name is in messages.
func TestOpenText(t *testing.T) {
	s, err := TableReader{}.OpenText("request", strings.NewReader("a,b\n1,2\n3,4\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.All(0)
	if err != nil || table.N() != 2 || !slices.Equal(table.Values.Float64s(), []float64{1, 2, 3, 4}) {
		t.Errorf("table %+v, error %v", table, err)
	}
	s, err = TableReader{}.OpenText("request", strings.NewReader("a,b\n1,2\n3\n"))
	if err == nil {
		_, err = s.All(0)
	}
	expectError(t, err, "request", "3")
}

// TestEncodeArrays: inputs that are no columns stay an array, and options about columns of inputs are
// errors.
func TestEncodeArrays(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 1, 2, 2), tensor.WithBacking(make([]uint8, 8)))
	table := &Table{Path: "f.npz", Columns: []string{"y"}, Values: dense.Of([]float64{1, 0}, 2, 1), X: x}
	set, err := table.Encode(ColumnOptions{})
	if err != nil || set.X != x || !slices.Equal(set.Targets, []string{"y"}) || set.Encoding != nil {
		t.Errorf("set %+v, error %v", set, err)
	}
	for _, o := range []ColumnOptions{{Drop: []string{"a"}}, {ID: []string{"a"}}, {Categorical: []string{"a"}}, {Numeric: []string{"a"}}} {
		_, err := table.Encode(o)
		expectError(t, err, "bad setting: ", "f.npz has no columns of inputs to drop")
	}
}

// TestPartNames: a part is named by its file and its range, which ends with the last row.
func TestPartNames(t *testing.T) {
	for want, p := range map[string]Part{
		"f.npz":                          {Path: "f.npz"},
		"f.csv (bytes 10 to 19)":         {Path: "f.csv", Unit: byteUnit, From: 10, To: 20},
		"f.parquet (groups 0 to 0)":      {Path: "f.parquet", Unit: groupUnit, To: 1},
		"pictures (images 1000 to 1999)": {Path: "pictures", Unit: imageUnit, From: 1000, To: 2000},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v is called %q, want %q", p, got, want)
		}
	}
}

// TestDamagedArrays: a NumPy archive that is cut off, or in which bytes are changed, is read or is
// an error of one line that names the file.
func TestDamagedArrays(t *testing.T) {
	var b bytes.Buffer
	arrays := []*tensor.Dense{dense.Of([]float64{1, 2, 3, 4, 5, 6}, 3, 2), dense.Of([]float64{7, 8, 9}, 3)}
	if err := npy.EncodeArchive(&b, []string{"X", "y"}, arrays); err != nil {
		t.Fatal(err)
	}
	whole, path := b.Bytes(), put(t, "f.npz", b.String())
	read := func(content []byte) (*Table, error) {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadTable(path)
	}
	if table, err := read(whole); err != nil || table.N() != 3 {
		t.Fatalf("table %+v, error %v", table, err)
	}
	for n := 0; n < len(whole); n += 11 {
		if _, err := read(whole[:n]); err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d of %d bytes: error %v", n, len(whole), err)
		}
	}
	for at := 0; at < len(whole); at += 3 {
		changed := slices.Clone(whole)
		changed[at] ^= 0x55
		if _, err := read(changed); err != nil && (!strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("byte %d changed: error %q", at, err)
		}
	}
}

// TestMissingValues: a gap where none is allowed is an error that names the place.
func TestMissingValues(t *testing.T) {
	table, err := decodeText([]byte("a,b,y\n1,x,0\n,z,1\n3,,0\n4,x,1\n5,z,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.Encode(ColumnOptions{Missing: MissingError})
	expectError(t, err, "f.csv", `column "a"`)
	set, err := table.Encode(ColumnOptions{Missing: MissingDrop})
	if err != nil || set.N() != 3 || set.Encoding.LeftOut != 2 {
		t.Errorf("%v rows, error %v, want 3 without 2", set, err)
	}
	set, err = table.Encode(ColumnOptions{Missing: MissingMedian})
	if err != nil || set.N() != 5 {
		t.Fatalf("error %v", err)
	}
	if d := len(set.Features); set.X.Float64s()[d] != 3.5 {
		t.Errorf("%g stands for the gap, want the median 3.5", set.X.Float64s()[d])
	}
	_, err = table.Encode(ColumnOptions{Missing: "zero"})
	if err == nil || !strings.Contains(err.Error(), "zero") {
		t.Errorf("error %v of another way", err)
	}
	set, err = column(t, "7", "8").Encode(ColumnOptions{Numeric: []string{"c"}, Missing: MissingError})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := ReadTable(put(t, "t.parquet", string(parquetOf(t, []struct{ C string }{{"7"}, {"x"}}))))
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.Encoding.Apply(texts, []int{0}, nil)
	expectError(t, err, texts.Path, `expected a number, found "x"`)
}
