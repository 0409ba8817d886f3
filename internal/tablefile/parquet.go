package tablefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// OpenParquet opens a Parquet file. Errors do not name the file.
func OpenParquet(content *io.SectionReader) (*parquet.File, error) {
	if err := checkEnds(content); err != nil {
		return nil, err
	}
	table, err := parquet.OpenFile(content, content.Size(),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, Corrupt(err)
	}
	return table, nil
}

// checkEnds returns an error unless f begins and ends as a Parquet file does.
func checkEnds(f *io.SectionReader) error {
	b := bufio.NewReader(f)
	kind, err := Sniff(b)
	if err != nil {
		return err
	}
	if kind != Parquet {
		if kind == "" {
			start, _ := b.Peek(24)
			kind = "one that begins " + Quoted(string(start))
		}
		return fmt.Errorf("expected a Parquet file, found %s", kind)
	}
	var tail [8]byte
	rest := f.Size() - int64(len(magic)+len(tail))
	if rest < 0 {
		return fmt.Errorf("expected a Parquet file, found only %d bytes of one", f.Size())
	}
	if _, err := f.ReadAt(tail[:], f.Size()-int64(len(tail))); err != nil {
		return err
	}
	if end := string(tail[4:]); end != magic {
		return fmt.Errorf("expected %q at the end of a Parquet file, found %q: it is cut off", magic, end)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > rest {
		return fmt.Errorf("expected a Parquet file, found it damaged: %d bytes of description in a file of %d", n, f.Size())
	}
	return nil
}

// Damaged turns a panic of the Parquet decoder into an error about the file at path. A damaged
// file can cause one.
func Damaged(path string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %w", path, Corrupt(fmt.Errorf("%v", r)))
	}
}

// Corrupt returns the error about a file that the Parquet decoder refuses.
func Corrupt(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("expected a Parquet file, found it damaged: %s", line)
}

// A Column decodes one column of a row group.
type Column struct {
	pages  parquet.Pages       // pages of the column
	read   []parquet.Page      // pages that the last call of Fill has read, the current page last
	values parquet.ValueReader // values of the current page; nil before the first page and behind each page
}

// NewColumn returns the decoder of a column of a row group. The caller must close it.
func NewColumn(chunk parquet.ColumnChunk) *Column { return &Column{pages: chunk.Pages()} }

// Fill decodes the next len(buf) values, which may be in several pages. The values are valid until
// the next call. Texts are in the memory of their pages, so that the pages are kept until then.
func (c *Column) Fill(buf []parquet.Value) error {
	done := len(c.read)
	if c.values != nil {
		done-- // the current page has more values
	}
	c.release(done)
	for have := 0; have < len(buf); {
		if c.values == nil {
			if err := c.next(); err != nil {
				return fmt.Errorf("expected %d values, found %d: %w", len(buf), have, err)
			}
		}
		got, err := c.values.ReadValues(buf[have:])
		have += got
		if errors.Is(err, io.EOF) || got == 0 && err == nil {
			c.values = nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// next opens the next page.
func (c *Column) next() error {
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.read, c.values = append(c.read, page), page.Values()
	return nil
}

// release ends the use of the first n pages.
func (c *Column) release(n int) {
	for _, page := range c.read[:n] {
		parquet.Release(page)
	}
	c.read = slices.Delete(c.read, 0, n)
}

// Close ends the decoding.
func (c *Column) Close() {
	c.release(len(c.read))
	c.values = nil
	_ = c.pages.Close() // the column was only read
}
