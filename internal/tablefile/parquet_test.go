package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// parquetOf returns a Parquet file of one column whose pages hold few values.
func parquetOf(t testing.TB, values []int64) *io.SectionReader {
	t.Helper()
	type row struct {
		V int64 `parquet:"v"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.PageBufferSize(64))
	for _, v := range values {
		if _, err := w.Write([]row{{v}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, int64(b.Len()))
}

// TestFill: a column gives its values in their order, however many are asked for at a time, and
// asking for more values than there are is an error.
func TestFill(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.Int64(), 1, 100).Draw(rt, "values")
		table, err := OpenParquet(parquetOf(t, want))
		if err != nil {
			rt.Fatal(err)
		}
		c := NewColumn(table.RowGroups()[0].ColumnChunks()[0])
		defer c.Close()
		for at := 0; at < len(want); {
			buf := make([]parquet.Value, rapid.IntRange(1, len(want)-at).Draw(rt, "count"))
			if err := c.Fill(buf); err != nil {
				rt.Fatal(err)
			}
			for i, v := range buf {
				if v.Int64() != want[at+i] {
					rt.Fatalf("value %d is %d, want %d", at+i, v.Int64(), want[at+i])
				}
			}
			at += len(buf)
		}
		if err := c.Fill(make([]parquet.Value, 2)); !errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "expected 2 values, found 0") {
			rt.Fatalf("error %v", err)
		}
	})
}

// TestCutOff: wherever a Parquet file is cut off, it is refused, and the error is one line.
func TestCutOff(t *testing.T) {
	whole := parquetOf(t, []int64{1, 2, 3})
	for n := range whole.Size() {
		_, err := OpenParquet(io.NewSectionReader(whole, 0, n))
		if err == nil || !strings.HasPrefix(err.Error(), "expected ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("first %d bytes of %d: error %v", n, whole.Size(), err)
		}
	}
}

// TestOpen: a file has its size and its content, and an absent file is an error.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if _, _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	f, content, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 { // reading from any place leaves the others as they are
		got := make([]byte, 3)
		if _, err := content.ReadAt(got, 4); err != nil || string(got) != table[4:7] || content.Size() != int64(len(table)) {
			t.Errorf("%q of %d bytes (%v)", got, content.Size(), err)
		}
	}
}

// TestFillKeeps: texts stay what they are while one call reads several pages, whose memory the
// decoder uses again.
func TestFillKeeps(t *testing.T) {
	type row struct {
		V string `parquet:"v,plain"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.PageBufferSize(256))
	want := make([]string, 1000)
	for i := range want {
		want[i] = fmt.Sprintf("text %04d", i)
		if _, err := w.Write([]row{{want[i]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := OpenParquet(io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, int64(b.Len())))
	if err != nil {
		t.Fatal(err)
	}
	c := NewColumn(table.RowGroups()[0].ColumnChunks()[0])
	defer c.Close()
	for at := 0; at < len(want); at += 250 {
		buf := make([]parquet.Value, 250)
		if err := c.Fill(buf); err != nil {
			t.Fatal(err)
		}
		for i, v := range buf {
			if v.String() != want[at+i] {
				t.Fatalf("value %d is %q, want %q", at+i, v.String(), want[at+i])
			}
		}
	}
}
