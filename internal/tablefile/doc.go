// Package tablefile holds what the readers of tables share: text that is unpacked by its
// content, rows of cells, and the columns of Parquet files. Memory does not grow with a file.
package tablefile

import (
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// ByteOrderMark is the character that some programs write before the name of the first column.
const ByteOrderMark = "\ufeff"

// Exact is the integer up to which float64 holds every integer exactly.
const Exact = 1 << 53

// Open opens a file for reading from any place.
func Open(name string) (*os.File, *io.SectionReader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, io.NewSectionReader(f, 0, info.Size()), nil
}

// Quoted returns a cell in the form of messages: on one line, and cut off if it is long.
func Quoted(cell string) string {
	const most = 40
	if len(cell) > most {
		return strconv.Quote(cell[:most]) + "..."
	}
	return strconv.Quote(cell)
}

// Number returns a number as people write it in a table: without an exponent, unless it is very large or
// small.
func Number(v float64) string { return string(AppendNumber(nil, v)) }

// AppendNumber appends what [Number] returns to dst.
func AppendNumber(dst []byte, v float64) []byte {
	format := byte('f')
	if a := math.Abs(v); a >= 1e21 || a < 1e-6 && a > 0 {
		format = 'g'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

// Listed joins names for a message. It shows at most the first 20 names.
func Listed(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	short := make([]string, 0, most)
	for i, name := range names {
		if i == most {
			return strings.Join(short, ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
		}
		short = append(short, Quoted(name))
	}
	return strings.Join(short, ", ")
}
