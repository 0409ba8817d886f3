package frozen

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/internal/strictjson"
	"gorgonia.org/tensor"
)

// A file of features begins with one line of JSON, a [Header], which spaces fill up to headerBytes bytes. A record for each
// row follows: its key, the CRC-32 (Castagnoli) of key and features, and the features. Records are appended. The end of a
// file whose last record is not complete is cut off, and a record whose sum is another counts as none, so that a process
// that was killed leaves a file that the next process uses.
const (
	fileFormat  = "valla features 1"
	headerBytes = 1024
	sumBytes    = 4
)

// Header says what the features in a file are.
type Header struct {
	Format  string `json:"format"`           // always "valla features 1"
	Network string `json:"network"`          // see [Cut.Fingerprint]
	Parts   int    `json:"parts"`            // of the front
	Joined  int    `json:"joined,omitempty"` // see [Place]
	Shape   []int  `json:"shape"`            // of the features of a row
	Dtype   string `json:"dtype"`            // element type of the features
}

// Place returns where the cut is.
func (h Header) Place() Place { return Place{h.Parts, h.Joined} }

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// file is an open file of features.
type file struct {
	*os.File        // open for reading and writing
	size     int    // bytes of a record
	end      int64  // where the next record goes
	text     []byte // of a record
}

// ReadHeader returns the header of the file at path.
func ReadHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	return header(f, path)
}

// header reads the header of a file of features.
func header(r io.ReaderAt, path string) (h Header, err error) {
	text := make([]byte, headerBytes)
	n, err := r.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	line, _, ok := bytes.Cut(text[:n], []byte("\n"))
	if n < headerBytes || !ok || !bytes.HasPrefix(line, []byte(`{"format":"valla features `)) {
		return h, fmt.Errorf("%s: no file of features, expected one that valla features has written", path)
	}
	if err := strictjson.Decode(line, &h); err != nil {
		return h, fmt.Errorf("%s: header: %w", path, err)
	}
	if h.Format != fileFormat {
		return h, fmt.Errorf("%s: format %q, expected %q", path, h.Format, fileFormat)
	}
	if n, err := raw.Count(h.Shape, 1<<29); err != nil || n < 1 || h.Parts < 1 || h.Joined < 0 || h.Dtype != "float32" && h.Dtype != "float64" {
		return h, fmt.Errorf("%s: features of shape %v and type %q after %d parts, expected positive numbers, and float32 or float64", path, h.Shape, h.Dtype, h.Parts)
	}
	return h, nil
}

// Open opens the file of features of a cut at path, or makes it if there is none. form is the form of the whole network.
// Features of another network, or of another cut, are an error. One process at a time may write to a file.
func Open(path string, c *Cut, form []byte) (*Memory, error) {
	want := Header{Format: fileFormat, Network: c.Fingerprint(form), Parts: c.at.Parts, Joined: c.at.Joined, Shape: c.Shape, Dtype: c.dt.String()}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path, want); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	h, err := header(f, path)
	if err == nil {
		err = h.fits(want, path)
	}
	m := InMemory(c)
	m.file = &file{File: f, size: len(key{}) + sumBytes + m.rowBytes()}
	if err == nil {
		err = m.index()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

// create writes a file without records.
func create(path string, h Header) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(line) >= headerBytes {
		return fmt.Errorf("features of shape %v", h.Shape)
	}
	text := slices.Concat(line, bytes.Repeat([]byte(" "), headerBytes-1-len(line)), []byte("\n"))
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// fits returns an error unless a file has the features that are wanted.
func (h Header) fits(want Header, path string) error {
	switch {
	case h.Network == want.Network && h.Place() == want.Place() && slices.Equal(h.Shape, want.Shape) && h.Dtype == want.Dtype:
		return nil
	case h.Dtype != want.Dtype:
		return fmt.Errorf("%s: features in %s, expected %s as the weights of the network", path, h.Dtype, want.Dtype)
	case h.Place() != want.Place() || !slices.Equal(h.Shape, want.Shape):
		return fmt.Errorf("%s: features of shape %v after %v of a network, expected shape %v after %v", path, h.Shape, h.Place(), want.Shape, want.Place())
	}
	return fmt.Errorf("%s: features of another network: the fingerprint is %s, expected %s", path, h.Network, want.Network)
}

// index reads the keys of all records, and cuts off the end of a record that was not finished.
func (m *Memory) index() error {
	f := m.file
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := (info.Size() - headerBytes) / int64(f.size)
	if f.end = headerBytes + n*int64(f.size); f.end != info.Size() {
		if err := f.Truncate(f.end); err != nil {
			return err
		}
	}
	var k key
	for i := range int(n) {
		if _, err := f.ReadAt(k[:], f.place(i)); err != nil {
			return err
		}
		m.at[k] = i
	}
	return nil
}

// place returns where record i begins.
func (f *file) place(i int) int64 { return headerBytes + int64(i)*int64(f.size) }

// encode appends the record of a row.
func (f *file) encode(to []byte, k key, v []float64, dt tensor.Dtype) []byte {
	start := len(to)
	to = append(append(to, k[:]...), make([]byte, sumBytes)...)
	to = encode(to, v, dt)
	binary.LittleEndian.PutUint32(to[start+len(k):], sum(to[start:]))
	return to
}

// sum returns the check sum of a record.
func sum(record []byte) uint32 {
	n := len(key{})
	return crc32.Update(crc32.Checksum(record[:n], castagnoli), castagnoli, record[n+sumBytes:])
}

// record returns the features in record i, which has the key k, and whether they are whole. Another process may have cut the
// file off.
func (f *file) record(i int, k key) (features []byte, ok bool, err error) {
	if f.text == nil {
		f.text = make([]byte, f.size)
	}
	switch _, err := f.ReadAt(f.text, f.place(i)); {
	case errors.Is(err, io.EOF):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading features: %w", err)
	}
	ok = bytes.Equal(f.text[:len(k)], k[:]) && binary.LittleEndian.Uint32(f.text[len(k):]) == sum(f.text)
	return f.text[len(k)+sumBytes:], ok, nil
}

// append writes records to the end, and returns the number of the first.
func (f *file) append(records []byte) (first int, err error) {
	first = int((f.end - headerBytes) / int64(f.size))
	if _, err := f.WriteAt(records, f.end); err != nil {
		return 0, fmt.Errorf("writing features: %w", err)
	}
	f.end += int64(len(records))
	return first, nil
}
