package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	npyio "github.com/sbinet/npyio/npy"
	"gorgonia.org/tensor"
)

// maxHeader bounds the text of a header, which for plain arrays is about 100
// bytes; a longer one is taken for garbage rather than allocated.
const maxHeader = 1 << 16

// header returns the version 1.0 preamble of a row-major array: magic, version,
// length and the dictionary, padded with spaces to a multiple of 64 bytes.
func header(descr string, shape tensor.Shape) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += "," // Python's one-element tuple
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	const fixed = 6 + 2 + 2 // magic, version, length
	pad := 63 - (fixed+len(dict))%64
	out := append(npyio.Magic[:], 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(dict)+pad+1))
	out = append(out, dict...)
	out = append(out, strings.Repeat(" ", pad)...)
	return append(out, '\n')
}

// readHeader consumes the preamble of an array from r and returns it with its
// length in bytes.
func readHeader(r io.Reader) (npyio.Header, int, error) {
	raw := make([]byte, 8, 128)
	if err := readFull(r, raw); err != nil {
		return npyio.Header{}, 0, err
	}
	if !bytes.HasPrefix(raw, npyio.Magic[:]) {
		return npyio.Header{}, 0, fmt.Errorf("%w: starts with %q, expected the magic number %q", ErrFormat, raw[:6], npyio.Magic)
	}
	var size int
	switch raw[6] {
	case 1:
		raw = append(raw, 0, 0)
		if err := readFull(r, raw[8:]); err != nil {
			return npyio.Header{}, 0, err
		}
		size = int(binary.LittleEndian.Uint16(raw[8:]))
	case 2:
		raw = append(raw, 0, 0, 0, 0)
		if err := readFull(r, raw[8:]); err != nil {
			return npyio.Header{}, 0, err
		}
		size = int(min(binary.LittleEndian.Uint32(raw[8:]), math.MaxInt32))
	default:
		return npyio.Header{}, 0, fmt.Errorf("%w: format version %d.%d, expected 1 or 2", ErrUnsupported, raw[6], raw[7])
	}
	if size > maxHeader {
		return npyio.Header{}, 0, fmt.Errorf("%w: header of %d bytes, expected at most %d", ErrFormat, size, maxHeader)
	}
	start := len(raw)
	raw = slices.Grow(raw, size)[:start+size]
	if err := readFull(r, raw[start:]); err != nil {
		return npyio.Header{}, 0, err
	}
	h, err := parseHeader(raw, raw[start:])
	return h, len(raw), err
}

// readFull fills p and reports missing bytes as ErrFormat.
func readFull(r io.Reader, p []byte) error {
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: ends within the header, expected %d more bytes, found %d", ErrFormat, len(p), n)
	}
	return err
}

// parseHeader hands the preamble raw, whose dictionary is text, to npyio. That
// indexes into the text without checks, so its panics mean a malformed header.
func parseHeader(raw, text []byte) (h npyio.Header, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%w: header %q", ErrFormat, bytes.TrimSpace(text))
		}
	}()
	r, err := npyio.NewReader(bytes.NewReader(raw))
	if err != nil {
		return h, fmt.Errorf("%w: header %q: %v", ErrFormat, bytes.TrimSpace(text), err)
	}
	return r.Header, nil
}

// elements returns the number of elements of an array, or an error where the
// shape is negative, its size in bytes overflows, or there are none: a dense
// tensor without elements panics on most uses.
func elements(shape []int, width int) (int, error) {
	if slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
		return 0, fmt.Errorf("%w: negative dimension in shape %v", ErrFormat, shape)
	}
	if slices.Contains(shape, 0) {
		return 0, fmt.Errorf("%w: an array of shape %v has no elements", ErrUnsupported, shape)
	}
	n := 1
	for _, d := range shape {
		if d > math.MaxInt/width/n {
			return 0, fmt.Errorf("%w: shape %v is larger than the address space", ErrFormat, shape)
		}
		n *= d
	}
	return n, nil
}
