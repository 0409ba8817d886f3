package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/go-valla/valla/internal/tablefile"
)

// A Part is a piece of a data set that is read by itself, so that many readers share the work.
type Part struct {
	Path string `json:"path"`           // of the file, or of the folder of images
	Unit string `json:"unit,omitempty"` // what From and To count: "bytes", "groups", "images", or "" for a whole file
	From int64  `json:"from,omitempty"` // the first byte, row group or image
	To   int64  `json:"to,omitempty"`   // the first byte, row group or image after the part
}

// Units of a Part.
const (
	// byteUnit counts the bytes of a text. The rows of a part are the lines after the first line
	// break at or after From, up to the line that ends with the first break at or after To; From 0
	// stands for the start of the file. Every line is in one part, however the file is cut. A line
	// must be a row: a quoted cell with a line break in it is an error.
	byteUnit = "bytes"
	// groupUnit counts the row groups of a Parquet file.
	groupUnit = "groups"
	// imageUnit counts the images of a folder, in the order of their names.
	imageUnit = "images"
)

// String names the part in messages.
func (p Part) String() string {
	if p.Unit == "" {
		return p.Path
	}
	return fmt.Sprintf("%s (%s %d to %d)", p.Path, p.Unit, p.From, p.To-1)
}

// within returns an error unless the part lies in a file or folder of n units.
func (p Part) within(n int64) error {
	if p.From >= 0 && p.To > p.From && p.To <= n {
		return nil
	}
	return fmt.Errorf("%s: %s %d to %d of %d: it has changed since it was divided", p.Path, p.Unit, p.From, p.To-1, n)
}

// imagesInPart is how many images are in a part of a folder.
const imagesInPart = 1000

// Divide divides files into parts of about size bytes. It reads no more than their first bytes,
// the description of Parquet files and the names in folders of images. Files that are packed
// and NumPy files are one part each, since they are read from their start. The parts depend on
// the files and on size alone.
func Divide(paths []string, size int64) ([]Part, error) {
	if size < 1 {
		return nil, fmt.Errorf("parts of %d bytes, expected a positive number", size)
	}
	var all []Part
	for _, path := range paths {
		parts, err := divide(path, size)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

func divide(path string, size int64) (parts []Part, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch lower := strings.ToLower(path); {
	case info.IsDir():
		images, err := listImages(path)
		if err != nil {
			return nil, err
		}
		return cuts(path, imageUnit, int64(len(images.paths)), imagesInPart), nil
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: expected a file or a folder of images, which can be read in parts", path)
	case strings.HasSuffix(lower, ".parquet"):
		return divideParquet(path, size)
	case strings.HasSuffix(lower, ".csv"), strings.HasSuffix(lower, ".tsv"), strings.HasSuffix(lower, ".txt"):
		plain, err := isPlain(path)
		if err != nil || !plain {
			return []Part{{Path: path}}, err
		}
		return cuts(path, byteUnit, info.Size(), size), nil
	}
	return []Part{{Path: path}}, nil
}

// cuts returns parts of about size units each, of equal size.
func cuts(path string, unit string, total, size int64) (parts []Part) {
	n := max(1, (total+size-1)/size)
	each := (total + n - 1) / n
	for from := int64(0); from < total; from += each {
		parts = append(parts, Part{path, unit, from, min(from+each, total)})
	}
	return parts
}

// isPlain says whether a text is not packed.
func isPlain(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	kind, err := tablefile.Sniff(bufio.NewReader(f))
	return kind == "", err
}

// divideParquet puts neighbouring row groups together until they have about size bytes.
func divideParquet(path string, size int64) (parts []Part, err error) {
	defer tablefile.Damaged(path, &err)
	f, content, err := tablefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table, err := tablefile.OpenParquet(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	groups := table.Metadata().RowGroups
	part, bytes := Part{Path: path, Unit: groupUnit}, int64(0)
	for i, g := range groups {
		bytes += max(g.TotalCompressedSize, g.TotalByteSize/4, 1)
		if part.To = int64(i) + 1; bytes >= size || i == len(groups)-1 {
			parts = append(parts, part)
			part.From, bytes = part.To, 0
		}
	}
	return parts, nil
}

// OpenPart opens a part of a table. A part may have no rows. The stream must be closed.
func (r TableReader) OpenPart(p Part) (*Stream, error) {
	var s *Stream
	var err error
	switch p.Unit {
	case "":
		return r.Open(p.Path)
	case byteUnit:
		s, err = r.openBytes(p)
	case groupUnit:
		s, err = r.openGroups(p)
	case imageUnit:
		s, err = r.openImages(p.Path, &p)
	default:
		err = fmt.Errorf("%s: parts in %q, expected %s, %s or %s", p.Path, p.Unit, byteUnit, groupUnit, imageUnit)
	}
	if err != nil {
		return nil, err
	}
	s.part = true
	return s, nil
}

// openBytes opens a part of a text. The start of the file tells the columns.
func (r TableReader) openBytes(p Part) (*Stream, error) {
	f, content, err := tablefile.Open(p.Path)
	if err != nil {
		return nil, err
	}
	s, err := r.openText(p.Path, content, f, content.Size())
	if err == nil {
		err = s.source.(*lineRows).narrow(content, p)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.Rows = s.Rows * (p.To - p.From) / max(1, content.Size())
	if p.From > 0 {
		s.Path = fmt.Sprintf("%s (lines after byte %d)", p.Path, p.From)
	}
	s.source.(*lineRows).path = s.Path
	return s, nil
}

// narrow makes t read the lines of a part of the content.
func (t *lineRows) narrow(content *io.SectionReader, p Part) error {
	if err := p.within(content.Size()); err != nil {
		return err
	}
	if t.text.Packed() {
		return fmt.Errorf("%s: a packed text has no parts", p.Path)
	}
	rest := &untilBreak{r: io.NewSectionReader(content, p.From, math.MaxInt64-p.From), left: p.To - p.From}
	b := bufio.NewReaderSize(rest, 1<<16)
	if p.From > 0 {
		if err := skipLine(b); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	} else if mark, _ := b.Peek(len(tablefile.ByteOrderMark)); bytes.Equal(mark, []byte(tablefile.ByteOrderMark)) {
		_, _ = b.Discard(len(mark)) // they were peeked
	}
	t.first, t.cells = nil, tablefile.NewCells(b, t.cells.Comma())
	t.cells.Lines = true
	if p.From == 0 && t.named {
		if _, err := t.cells.Read(); err != nil {
			return t.syntax(err)
		}
	}
	return nil
}

// skipLine reads to the end of a line.
func skipLine(b *bufio.Reader) error {
	for {
		switch _, err := b.ReadSlice('\n'); {
		case err == nil, errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// untilBreak reads up to the first line break after left bytes, with it.
type untilBreak struct {
	r    io.Reader // the text
	left int64     // negative: that many bytes are read beyond
	done bool      // says that the line break was read
}

// Read implements io.Reader.
func (u *untilBreak) Read(p []byte) (int, error) {
	if u.done {
		return 0, io.EOF
	}
	n, err := u.r.Read(p)
	if from := max(0, u.left); from < int64(n) {
		if i := bytes.IndexByte(p[from:n], '\n'); i >= 0 {
			n, u.done = int(from)+i+1, true
		}
	}
	u.left -= int64(n)
	return n, err
}

// openGroups opens row groups of a Parquet file.
func (r TableReader) openGroups(p Part) (*Stream, error) {
	s, err := r.openParquet(p.Path)
	if err != nil {
		return nil, err
	}
	if err := s.source.(*parquetRows).narrow(s, p); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (p *parquetRows) narrow(s *Stream, of Part) error {
	groups := p.table.RowGroups()
	if err := of.within(int64(len(groups))); err != nil {
		return err
	}
	for _, g := range groups[:of.From] {
		p.row += int(g.NumRows())
	}
	s.First, s.Rows = p.row, 0
	for _, g := range groups[of.From:of.To] {
		s.Rows += max(0, g.NumRows())
	}
	p.group, p.end = int(of.From)-1, int(of.To)
	return nil
}
