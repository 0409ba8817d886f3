package data

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla/internal/tablefile"
)

// decodeText reads a table of text called f.csv.
func decodeText(in []byte) (*Table, error) {
	s, err := TableReader{}.openText("f.csv", bytes.NewReader(in), io.NopCloser(nil), 0)
	if err != nil {
		return nil, err
	}
	return s.All(0)
}

// zstandard packs a text.
func zstandard(t testing.TB, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

// parquetOf returns a Parquet file of rows, with a row group for every third.
func parquetOf[T any](t testing.TB, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	for i := range rows {
		_, err := w.Write(rows[i : i+1])
		if err == nil && i%3 == 2 {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openSection opens the content of a Parquet file, whose lists are padded.
func openSection(path string, content []byte, paddings ...Padding) (s *Stream, err error) {
	defer tablefile.Damaged(path, &err)
	return TableReader{Paddings: paddings}.parquetStream(path, io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content))))
}
