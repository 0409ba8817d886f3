// Package gunzip reads files that may be compressed with gzip. The content shows whether a file
// is compressed; its name does not matter.
package gunzip

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// magic are the first bytes of compressed content (RFC 1952, 2.3.1).
var magic = []byte{0x1f, 0x8b}

// NewReader returns r, and decompresses it if its content is compressed. Errors about damaged
// compressed data wrap fault; errors of r come through.
func NewReader(r io.Reader, fault error) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if start, _ := b.Peek(len(magic)); !bytes.Equal(start, magic) {
		return b, nil // the first read returns an error of Peek again
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, explain(err, fault)
	}
	return bufio.NewReaderSize(&unzipped{z, fault}, 1<<16), nil
}

// An unzipped reader decompresses. Its errors distinguish the end of the data from data that are
// cut off, which io.ReadFull would not.
type unzipped struct {
	z     *gzip.Reader // decompresses
	fault error        // is wrapped by errors about damaged data
}

func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if err != nil && err != io.EOF {
		err = explain(err, u.fault)
	}
	return n, err
}

// explain makes an error about compressed data wrap fault. It returns other errors as they are.
func explain(err, fault error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the compressed data is cut off", fault)
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: %w", fault, err)
	}
	return err
}

// Find returns the path of the file in the folder dir with a name, or with .gz after the name. The
// error for a missing file names both paths and wraps fs.ErrNotExist.
func Find(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	for _, p := range []string{path, path + ".gz"} {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	return "", fmt.Errorf("no file %s or %s.gz: %w", path, path, fs.ErrNotExist)
}
