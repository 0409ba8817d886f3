package tablefile

import (
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// Kinds of content that [Sniff] distinguishes.
const (
	Empty   = "an empty file"
	Gzip    = "a gzip file"
	Bzip2   = "a bzip2 file"
	Zstd    = "a zstd file"
	Zip     = "a zip archive"
	Parquet = "a Parquet file"
)

// zstdMemory is the largest window of a zstd file, in bytes.
const zstdMemory = 128 << 20

// A Text is the decompressed content of a file.
type Text struct {
	io.Reader
	packed string      // name of the compression; "" means none
	close  []io.Closer // readers to close
}

// Unpack makes t read the text in r. If r begins like gzip, bzip2, zstd or a zip archive, t
// unpacks it. A zip archive needs an [io.SectionReader].
func (t *Text) Unpack(r io.Reader) error {
	b := bufio.NewReaderSize(r, 1<<16)
	kind, err := Sniff(b)
	if err != nil {
		return err
	}
	switch kind {
	case "":
		t.Reader = b
	case Empty, Parquet:
		return fmt.Errorf("expected comma-separated text, found %s", kind)
	case Bzip2:
		t.Reader, t.packed = bzip2.NewReader(b), "bzip2"
	case Gzip:
		z, err := gzip.NewReader(b)
		if err != nil {
			return fmt.Errorf("expected gzip data, found it damaged or cut off: %w", err)
		}
		t.Reader, t.packed, t.close = z, "gzip", append(t.close, z)
	case Zstd:
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(zstdMemory))
		if err != nil {
			return fmt.Errorf("expected zstd data, found it damaged or cut off: %w", err)
		}
		t.Reader, t.packed, t.close = z, "zstd", append(t.close, z.IOReadCloser())
	default:
		f, ok := r.(*io.SectionReader)
		if !ok {
			return fmt.Errorf("expected text that can be read from start to end, found %s", kind)
		}
		return t.unzip(f)
	}
	return nil
}

// Sniff describes a file by its first bytes. It returns "" for a text and for an unknown kind
// of file. An error is an error of the disk.
func Sniff(b *bufio.Reader) (string, error) {
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch s := string(head); {
	case s == "":
		return Empty, nil
	case strings.HasPrefix(s, "\x1f\x8b"):
		return Gzip, nil
	case strings.HasPrefix(s, "BZh"):
		return Bzip2, nil
	case s == "\x28\xb5\x2f\xfd":
		return Zstd, nil
	case strings.HasPrefix(s, "PK\x03\x04"), strings.HasPrefix(s, "PK\x05\x06"):
		return Zip, nil
	case s == magic:
		return Parquet, nil
	}
	return "", nil
}

// unzip makes t read the one table in the archive f.
func (t *Text) unzip(f *io.SectionReader) error {
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
		return fmt.Errorf("expected %s in the zip archive, found it damaged: %w", Quoted(tables[0].Name), err)
	}
	t.Reader, t.packed, t.close = r, "zip", append(t.close, r)
	return nil
}

// isTable reports whether the file with the given name in an archive is a table. Programs add other files.
func isTable(name string) bool {
	if strings.HasPrefix(name, "__MACOSX/") {
		return false
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".txt" || ext == ".csv"
}

// Read reads the text.
func (t *Text) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && t.packed != "" {
		err = fmt.Errorf("expected more %s data, found it damaged or cut off: %w", t.packed, err)
	}
	return n, err
}

// Close closes the readers that unpack the file, but not the file.
func (t *Text) Close() {
	for _, c := range slices.Backward(t.close) {
		_ = c.Close() // the reader has only read
	}
}

// Packed reports whether t unpacks a file.
func (t *Text) Packed() bool { return t.packed != "" }
