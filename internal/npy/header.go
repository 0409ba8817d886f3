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

// maxHeader is the largest size of a header's text in bytes. For plain arrays the text has
// about 100 bytes; a longer text than maxHeader is an error and is not read.
const maxHeader = 1 << 16

// header returns the version 1.0 preamble of a row-major array: magic number, version, length
// and dictionary, padded with spaces to a multiple of 64 bytes.
func header(descr string, shape tensor.Shape) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += "," // Python writes a tuple of one element like this
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

// readHeader reads the preamble of an array from r and returns it, decoded, with its length in
// bytes.
func readHeader(r io.Reader) (h npyio.Header, used int, err error) {
	raw, text, err := readPreamble(r)
	if err != nil {
		return h, 0, err
	}
	h, err = parseHeader(raw, text)
	return h, len(raw), err
}

// readPreamble returns the bytes before the data (raw), and the part of these bytes that is the
// dictionary (text).
func readPreamble(r io.Reader) (raw, text []byte, err error) {
	raw, err = readMore(r, nil, 8)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(raw, npyio.Magic[:]) {
		return nil, nil, fmt.Errorf("%w: starts with %q, expected the magic number %q", ErrFormat, raw[:6], npyio.Magic)
	}
	width := 2 * int(raw[6]) // of the length: 2 bytes in version 1, 4 in version 2
	if width != 2 && width != 4 {
		return nil, nil, fmt.Errorf("%w: format version %d.%d, expected 1 or 2", ErrUnsupported, raw[6], raw[7])
	}
	if raw, err = readMore(r, raw, width); err != nil {
		return nil, nil, err
	}
	var length [4]byte
	copy(length[:], raw[8:])
	size := binary.LittleEndian.Uint32(length[:])
	if size > maxHeader {
		return nil, nil, fmt.Errorf("%w: header of %d bytes, expected at most %d", ErrFormat, size, maxHeader)
	}
	raw, err = readMore(r, raw, int(size))
	if err != nil {
		return nil, nil, err
	}
	return raw, raw[8+width:], nil
}

// readMore appends the next n bytes of r to raw. If there are fewer, the error is an ErrFormat.
func readMore(r io.Reader, raw []byte, n int) ([]byte, error) {
	start := len(raw)
	raw = slices.Grow(raw, n)[:start+n]
	got, err := io.ReadFull(r, raw[start:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: ends within the header, expected %d more bytes, found %d", ErrFormat, n, got)
	}
	return raw, err
}

// parseHeader decodes the preamble raw, whose dictionary is text, with package npyio. That
// package indexes into the text without checks, so that its panics mean a malformed header.
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

// elements returns the number of elements of an array. It returns an error if a dimension is
// negative, if the size in bytes overflows, or if there are no elements, because a dense
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
