package cifar

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/go-valla/valla/data/image"
)

// ErrFormat is wrapped by errors about content that is no valid batch.
var ErrFormat = errors.New("malformed CIFAR data")

const (
	channels = 3
	side     = 32
	size     = channels * side * side // of an image, in bytes
	classes  = 10
)

// Decode reads n >= 1 images from r, up to its end. Errors start with name.
func Decode(r io.Reader, name string, n int) (*image.Set, error) {
	s := newSet(n)
	if err := decode(s, r, name); err != nil {
		return nil, err
	}
	return s, nil
}

// decode fills s with the records of r, and makes sure that r ends there: with
// gzip that is also what verifies the checksum.
func decode(s *image.Set, r io.Reader, name string) error {
	b, err := plain(r)
	if err != nil {
		return broken(name, 0, err)
	}
	for i := range s.N {
		label, err := b.ReadByte()
		if err != nil {
			return short(name, i, 0, err)
		}
		if int(label) >= s.Classes {
			return malformed(name, i, "expected a label of 0 to %d, found %d", s.Classes-1, label)
		}
		s.Labels[i] = label
		if n, err := io.ReadFull(b, s.Pixels[i*size:(i+1)*size]); err != nil {
			return short(name, i, 1+n, err)
		}
	}
	switch first, err := b.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return malformed(name, s.N, "expected the end, found more bytes, the first 0x%02x", first)
	default:
		return broken(name, s.N, err)
	}
}

// plain returns r, decompressed where its content is compressed: a batch starts
// with a label, compressed content with 1f 8b (RFC 1952, 2.3.1).
func plain(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if start, _ := b.Peek(2); !bytes.Equal(start, []byte{0x1f, 0x8b}) {
		return b, nil // an error of Peek comes again with the first read
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // of the header
		}
		return nil, err
	}
	return bufio.NewReaderSize(z, 1<<16), nil
}

// short returns the error of reading record i, of which found bytes came.
func short(name string, i, found int, err error) error {
	// gzip reports the end of a cut file as ErrUnexpectedEOF, and so does
	// ReadFull that of a plain one: both are the end.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed(name, i, "expected %d bytes, found the end after %d", 1+size, found)
	}
	return broken(name, i, err)
}

// broken returns an ErrFormat where err is the compressed data's fault, and err
// with its place where it is the disk's.
func broken(name string, i int, err error) error {
	if faulty(err) {
		return fmt.Errorf("%s: %w: record %d: %w", name, ErrFormat, i, err)
	}
	return fmt.Errorf("%s: record %d: %w", name, i, err)
}

func malformed(name string, i int, pattern string, args ...any) error {
	return fmt.Errorf("%s: %w: record %d: %s", name, ErrFormat, i, fmt.Sprintf(pattern, args...))
}
