package cifar

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/gunzip"
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

// decode fills s with the records of r and makes sure that r ends after them. For gzip,
// reaching the end also verifies the checksum.
func decode(s *image.Set, r io.Reader, name string) error {
	b, err := gunzip.NewReader(r, ErrFormat)
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

// short returns the error about record i, of which only found bytes could be read.
func short(name string, i, found int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed(name, i, "expected %d bytes, found the end after %d", 1+size, found)
	}
	return broken(name, i, err)
}

// broken adds the place to err.
func broken(name string, i int, err error) error {
	return fmt.Errorf("%s: record %d: %w", name, i, err)
}

func malformed(name string, i int, pattern string, args ...any) error {
	return fmt.Errorf("%s: %w: record %d: %s", name, ErrFormat, i, fmt.Sprintf(pattern, args...))
}
