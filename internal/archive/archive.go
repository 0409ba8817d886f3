// Package archive writes and reads the files of this project that hold several arrays. They
// are uncompressed zip archives of JSON documents and NumPy arrays. A caller reads the
// members that it expects, one by one, and at the end makes sure that none is left. Reading
// takes no more memory than the size of the file demands.
package archive

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/strictjson"
	"gorgonia.org/tensor"
)

// ErrFormat is wrapped by errors about a file that is damaged, incomplete or of another
// kind.
var ErrFormat = errors.New("damaged, or a file of another kind")

// Writer writes an archive.
type Writer struct {
	zip     *zip.Writer     // the archive
	members map[string]bool // the names of those that are written
	err     error           // the first that occurred
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{zip: zip.NewWriter(w), members: map[string]bool{}}
}

// JSON adds a document.
func (w *Writer) JSON(member string, v any) {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		w.fail(member, err)
		return
	}
	w.store(member, func(to io.Writer) error { _, err := to.Write(text); return err })
}

// Array adds an array of finite numbers, float32 or float64.
func (w *Writer) Array(member string, t *tensor.Dense) {
	if t == nil || t.Dtype() != tensor.Float64 && t.Dtype() != tensor.Float32 {
		w.fail(member, fmt.Errorf("expected an array of float32 or float64"))
		return
	}
	if i, v := graph.FirstNonFinite(t); i >= 0 {
		w.fail(member, fmt.Errorf("element %d is %g, expected finite numbers", i, v))
		return
	}
	w.store(member, func(to io.Writer) error { return npy.Encode(to, t) })
}

// Close ends the archive. It returns the first error of all calls on the Writer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.zip.Close()
}

func (w *Writer) store(member string, write func(io.Writer) error) {
	if w.members[member] {
		w.fail(member, fmt.Errorf("it is there twice"))
	}
	if w.err != nil {
		return
	}
	w.members[member] = true
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: member, Method: zip.Store})
	if err == nil {
		err = write(to)
	}
	if err != nil {
		w.fail(member, err)
	}
}

func (w *Writer) fail(member string, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", member, err)
	}
}

// Reader holds the members of an archive that are still to be read. Its errors wrap
// ErrFormat, except errors of reading the file itself.
type Reader struct {
	members map[string]*zip.File // by their names
}

// Open lists the members of the archive in the size bytes of r. It refuses compressed
// members, and members that together claim more bytes than the file has.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a, left := &Reader{members: make(map[string]*zip.File, len(z.File))}, uint64(size)
	for _, f := range z.File {
		switch {
		case a.members[f.Name] != nil:
			return nil, Errorf(f.Name, "it is there twice")
		case f.Method != zip.Store:
			return nil, Errorf(f.Name, "it is compressed, expected it to be stored")
		case f.UncompressedSize64 > left:
			return nil, Errorf(f.Name, "it claims %d bytes in a file of %d", f.UncompressedSize64, size)
		}
		left -= f.UncompressedSize64
		a.members[f.Name] = f
	}
	return a, nil
}

// Errorf returns an error about a member. The error wraps ErrFormat.
func Errorf(member, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %w", member, ErrFormat, fmt.Errorf(format, args...))
}

// Has says whether a member is still to be read.
func (a *Reader) Has(member string) bool { return a.members[member] != nil }

// open opens the member with the given name and removes it from those that are left.
func (a *Reader) open(member string) (io.ReadCloser, error) {
	f := a.members[member]
	if f == nil {
		return nil, Errorf(member, "missing")
	}
	delete(a.members, member)
	r, err := f.Open()
	if err != nil {
		return nil, Errorf(member, "%w", err)
	}
	return r, nil
}

// Text returns the content of a member without decoding it.
func (a *Reader) Text(member string) ([]byte, error) {
	r, err := a.open(member)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r) // to the end, which verifies the checksum
	if err != nil {
		return nil, Errorf(member, "%w", err)
	}
	return text, nil
}

// Decode decodes the JSON document text into the value that v points to. A key for which
// that has no field is an error. Errors name member.
func Decode(member string, text []byte, v any) error {
	if err := strictjson.Decode(text, v); err != nil {
		return Errorf(member, "%w", err)
	}
	return nil
}

// Array reads an array of finite numbers, which must have the given element type and shape.
func (a *Reader) Array(member string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	r, err := a.open(member)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := npy.Decode(r, member)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if t.Dtype() != dt || !slices.Equal(t.Shape(), shape) {
		return nil, Errorf(member, "expected %v of shape %v, found %v of shape %v", dt, tensor.Shape(shape), t.Dtype(), t.Shape())
	}
	if i, v := graph.FirstNonFinite(t); i >= 0 {
		return nil, Errorf(member, "element %d is %g, expected finite numbers", i, v)
	}
	return t, nil
}

// Empty returns an error if a member was not read.
func (a *Reader) Empty() error {
	for _, name := range slices.Sorted(maps.Keys(a.members)) {
		return Errorf(name, "not expected in this file")
	}
	return nil
}
