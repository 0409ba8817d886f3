package idx

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// gzipMagic are the first bytes of compressed content (RFC 1952, 2.3.1). IDX data start with
// two zeros.
var gzipMagic = []byte{0x1f, 0x8b}

// plain returns r, and decompresses it if its content is compressed.
func plain(r io.Reader) (io.Reader, error) {
	in := &counter{r: r}
	b := bufio.NewReaderSize(in, 1<<16)
	if start, _ := b.Peek(len(gzipMagic)); !bytes.Equal(start, gzipMagic) {
		return b, nil // the first read returns an error of Peek again
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, explain(err, in.n)
	}
	return &unzipped{z: z, in: in}, nil
}

// A counter counts the bytes that are read through it.
type counter struct {
	r io.Reader // the source of the bytes
	n int64     // bytes that were read
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// An unzipped reader decompresses. Its errors say whether the content is at fault, and
// distinguish the end of the compressed data from data that are cut off.
type unzipped struct {
	z  *gzip.Reader // decompresses
	in *counter     // counts the compressed bytes
}

func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if err != nil && err != io.EOF {
		err = explain(err, u.in.n)
	}
	return n, err
}

// explain turns an error about compressed content, of which size bytes were read, into an
// ErrFormat. It returns errors of reading the file as they are.
func explain(err error, size int64) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the compressed data is cut off after %d bytes", ErrFormat, size)
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}
