// Package idx reads the IDX files of MNIST and its relatives: images [N,H,W] and labels
// [N] of unsigned bytes. A file may be compressed with gzip. The content shows whether it is;
// its name does not matter.
//
// A file with a fault is refused as a whole. The error is one line with the file, the
// number of the byte, counted from 0 in the uncompressed data, and what was expected and
// found there. A header that claims more data than there are does not cost memory.
//
// The format is described at the end of http://yann.lecun.com/exdb/mnist/: two
// zero bytes, the type (8 for unsigned bytes), the number of dimensions, the
// dimensions as big-endian 32-bit numbers, the values in row-major order.
package idx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/gunzip"
)

// ErrFormat is wrapped by errors about content that is no valid IDX file of
// images or labels, or an image file and a label file that do not go together.
var ErrFormat = errors.New("malformed IDX data")

const (
	typeUint8 = 0x08
	chunk     = 1 << 20 // the largest allocation, in bytes, before any data have been read
)

// DecodeImages reads images from r, up to its end. Errors start with name.
func DecodeImages(r io.Reader, name string) (*image.Images, error) {
	dims, pixels, err := decode(r, name, 3)
	if err != nil {
		return nil, err
	}
	return &image.Images{N: dims[0], C: 1, H: dims[1], W: dims[2], Pixels: pixels}, nil
}

// decodeLabels reads labels [N], with N >= 1, from r, up to its end. Errors start with name.
func decodeLabels(r io.Reader, name string) ([]uint8, error) {
	_, labels, err := decode(r, name, 1)
	return labels, err
}

// readFile returns what decode makes of the file at path.
func readFile[T any](path string, decode func(io.Reader, string) (T, error)) (data T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return data, err
	}
	defer f.Close()
	return decode(f, path)
}

// decode reads the array of rank dimensions that fills r.
func decode(r io.Reader, name string, rank int) (dims []int, data []byte, err error) {
	b, err := gunzip.NewReader(r, ErrFormat)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	d := decoder{name: name, r: b}
	if dims, err = d.header(rank); err != nil {
		return nil, nil, err
	}
	if data, err = d.read(product(dims), fmt.Sprintf("values of shape %v", dims)); err != nil {
		return nil, nil, err
	}
	if err := d.end(); err != nil {
		return nil, nil, err
	}
	return dims, data, nil
}

// A decoder reads the uncompressed data and knows where it is.
type decoder struct {
	name string    // of the file, for messages
	r    io.Reader // the uncompressed data
	at   int       // bytes read
}

// header reads everything before the values and checks it.
func (d *decoder) header(rank int) (dims []int, err error) {
	magic, err := d.read(4, "the magic number")
	if err != nil {
		return nil, err
	}
	switch {
	case magic[0] != 0 || magic[1] != 0:
		return nil, d.malformed(0, "the magic number 00 00 08 %02x", "% x", rank, magic)
	case magic[2] != typeUint8:
		return nil, d.malformed(2, "the type 0x%02x (unsigned bytes)", "0x%02x", typeUint8, magic[2])
	case int(magic[3]) != rank:
		return nil, d.malformed(3, "%d dimension(s)", "%d", rank, magic[3])
	}
	dims = make([]int, rank)
	for i := range dims {
		size, err := d.read(4, fmt.Sprintf("dimension %d", i))
		if err != nil {
			return nil, err
		}
		n := binary.BigEndian.Uint32(size)
		if n == 0 || n > math.MaxInt32 {
			return nil, d.malformed(d.at-4, "a dimension of 1 to %d", "%d", math.MaxInt32, n)
		}
		dims[i] = int(n)
	}
	if product(dims) < 0 {
		return nil, d.malformed(4, "at most %d values", "shape %v", math.MaxInt, dims)
	}
	return dims, nil
}

// product returns the number of values, or -1 where that is more than an int.
func product(dims []int) int {
	n := 1
	for _, size := range dims {
		if size > math.MaxInt/n {
			return -1
		}
		n *= size
	}
	return n
}

// read returns the next n bytes, which what names in errors. The buffer doubles as the bytes
// come in, so that it is never more than twice as long as the data.
func (d *decoder) read(n int, what string) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(min(n, chunk))
	got, err := io.CopyN(&out, d.r, int64(n))
	d.at += int(got)
	if errors.Is(err, io.EOF) {
		return nil, d.malformed(d.at, "%d bytes of %s", "the end after %d", n, what, got)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: byte %d: expected %d bytes of %s: %w", d.name, d.at, n, what, err)
	}
	return out.Bytes(), nil
}

// end makes sure that the data end here. For gzip, reaching the end also verifies the
// checksum.
func (d *decoder) end() error {
	var one [1]byte
	switch _, err := io.ReadFull(d.r, one[:]); err {
	case io.EOF:
		return nil
	case nil:
		return d.malformed(d.at, "the end", "more bytes, the first 0x%02x", one[0])
	default:
		return fmt.Errorf("%s: byte %d: expected the end: %w", d.name, d.at, err)
	}
}

// malformed returns an ErrFormat about a byte. expected and found are formats; args holds the
// arguments of expected and then the arguments of found.
func (d *decoder) malformed(at int, expected, found string, args ...any) error {
	return malformed(d.name, at, expected, found, args...)
}

func malformed(name string, at int, expected, found string, args ...any) error {
	what := fmt.Sprintf("expected "+expected+", found "+found, args...)
	return fmt.Errorf("%s: %w: byte %d: %s", name, ErrFormat, at, what)
}
