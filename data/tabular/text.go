package tabular

import (
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// A text is the decompressed content of a file.
type text struct {
	io.Reader
	bytes  int64 // the number of bytes read so far
	packed string
	close  []io.Closer
}

// open opens a file for reading from any place.
func open(name string) (*os.File, *io.SectionReader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, io.NewSectionReader(f, 0, info.Size()), nil
}

// unpack makes t read the text in f. If f begins like gzip, bzip2 or a zip archive, t unpacks
// it.
func (t *text) unpack(f *io.SectionReader) error {
	b := bufio.NewReaderSize(f, 1<<16)
	kind, err := sniff(b)
	if err != nil {
		return err
	}
	switch kind {
	case "":
		t.Reader = b
	case "an empty file", "a Parquet file":
		return fmt.Errorf("expected comma-separated text, found %s", kind)
	case "a bzip2 file":
		t.Reader, t.packed = bzip2.NewReader(b), "bzip2"
	case "a gzip file":
		z, err := gzip.NewReader(b)
		if err != nil {
			return fmt.Errorf("expected gzip data, found it damaged or cut off: %w", err)
		}
		t.Reader, t.packed, t.close = z, "gzip", append(t.close, z)
	default:
		return t.unzip(f)
	}
	return nil
}

// sniff describes a file by its first bytes. It returns "" for a text and for an unknown kind
// of file. An error is an error of the disk.
func sniff(b *bufio.Reader) (string, error) {
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch s := string(head); {
	case s == "":
		return "an empty file", nil
	case strings.HasPrefix(s, "\x1f\x8b"):
		return "a gzip file", nil
	case strings.HasPrefix(s, "BZh"):
		return "a bzip2 file", nil
	case strings.HasPrefix(s, "PK\x03\x04"), strings.HasPrefix(s, "PK\x05\x06"):
		return "a zip archive", nil
	case s == magic:
		return "a Parquet file", nil
	}
	return "", nil
}

// unzip makes t read the one table in the archive f.
func (t *text) unzip(f *io.SectionReader) error {
	z, err := zip.NewReader(f, f.Size())
	if err != nil {
		return fmt.Errorf("expected a zip archive, found it damaged or cut off: %w", err)
	}
	tables := slices.DeleteFunc(z.File, func(f *zip.File) bool { return !isTable(f.Name) })
	if len(tables) != 1 {
		return fmt.Errorf("expected a zip archive of one .txt or .csv file, found %d", len(tables))
	}
	r, err := tables[0].Open()
	if err != nil {
		return fmt.Errorf("expected %s in the zip archive, found it damaged: %w", quoted(tables[0].Name), err)
	}
	t.Reader, t.packed, t.close = r, "zip", append(t.close, r)
	return nil
}

// isTable says whether a file of an archive is a table, and not a file that programs add.
func isTable(name string) bool {
	if strings.HasPrefix(name, "__MACOSX/") {
		return false
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".txt" || ext == ".csv"
}

// Read reads the text and counts its bytes.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && t.packed != "" {
		err = fmt.Errorf("expected more %s data, found it damaged or cut off: %w", t.packed, err)
	}
	return n, err
}

// Close closes the readers that unpack the file, but not the file.
func (t *text) Close() {
	for _, c := range slices.Backward(t.close) {
		_ = c.Close() // it was read only
	}
}
