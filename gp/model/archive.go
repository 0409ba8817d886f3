package model

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/npy"
)

// archive is a model file of which parts are still to be read.
type archive struct {
	members map[string]*zip.File // those not yet read
	size    int64                // of the file
}

// openArchive lists the members of the file in the size bytes of r. Compressed
// members, and members that together claim more than the file has, are refused:
// memory is bounded by the size of the file.
func openArchive(r io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a := &archive{members: make(map[string]*zip.File, len(z.File)), size: size}
	left := uint64(size)
	for _, f := range z.File {
		switch {
		case a.members[f.Name] != nil:
			return nil, formatError(f.Name, fmt.Errorf("it is there twice"))
		case f.Method != zip.Store:
			return nil, formatError(f.Name, fmt.Errorf("it is compressed, expected it to be stored"))
		case f.UncompressedSize64 > left:
			return nil, formatError(f.Name, fmt.Errorf("it claims %d bytes in a file of %d", f.UncompressedSize64, size))
		}
		left -= f.UncompressedSize64
		a.members[f.Name] = f
	}
	return a, nil
}

// open takes the member called name.
func (a *archive) open(name string) (io.ReadCloser, error) {
	f := a.members[name]
	if f == nil {
		return nil, formatError(name, fmt.Errorf("missing"))
	}
	delete(a.members, name)
	r, err := f.Open()
	if err != nil {
		return nil, formatError(name, err)
	}
	return r, nil
}

// header reads model.json, whose version is looked at first.
func (a *archive) header() (*header, error) {
	r, err := a.open(headerMember)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r) // to the end, which verifies the checksum
	if err != nil {
		return nil, formatError(headerMember, err)
	}
	var version struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, formatError(headerMember, err)
	}
	if version.Format != fileFormat {
		return nil, formatError(headerMember, fmt.Errorf("format %q, expected %q", version.Format, fileFormat))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	h := new(header)
	if err := d.Decode(h); err != nil {
		return nil, formatError(headerMember, err)
	}
	return h, nil
}

// array reads the member called name, finite numbers of type dt in the given shape.
func (a *archive) array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := npy.Decode(r, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if t.Dtype() != dt || !slices.Equal(t.Shape(), shape) {
		return nil, formatError(name, fmt.Errorf("expected %v of shape %v, found %v of shape %v",
			dt, tensor.Shape(shape), t.Dtype(), t.Shape()))
	}
	if i, v := firstNonFinite(t); i >= 0 {
		return nil, formatError(name, fmt.Errorf("element %d is %g, expected finite numbers", i, v))
	}
	return t, nil
}

// expectEmpty makes sure that every member was read.
func (a *archive) expectEmpty() error {
	for _, name := range slices.Sorted(maps.Keys(a.members)) {
		return formatError(name, fmt.Errorf("not expected in this model"))
	}
	return nil
}
