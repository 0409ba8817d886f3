package data

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/tablefile"
)

// parquetRows is the source of a Parquet file.
type parquetRows struct {
	path   string          // of the file, for messages
	file   *os.File        // is closed with the stream; nil in tests
	table  *parquet.File   // the description of the file
	micros bool            // says that timestamps are numbers
	group  int             // the number of the row group
	end    int             // that after the last row group
	left   int64           // rows of it
	row    int             // the number of the next row in the file
	leaves []parquetLeaf   // of the columns of the stream
	open   []*parquetChunk // of the group, for the columns in use
	kinds  []parquetKind   // of the columns in use
	buffer []parquet.Value // memory for the values of a column

	paddings []Padding // of columns of lists
	counts   []int     // elements of the lists in the buffer, if they are padded
}

// parquetKind says how the values of a column become cells: value returns a number, or the
// text of a word and false.
type parquetKind struct {
	value func(parquet.Value) (v float64, word string, number bool) // what a value becomes
	exact func(parquet.Value) string                                // the digits of a number that may be too long for float64; nil where none is
	whole bool                                                      // the values are whole numbers, which may be too large
}

// openParquet opens the Parquet file at path.
func (r TableReader) openParquet(path string) (s *Stream, err error) {
	defer tablefile.Damaged(path, &err)
	f, content, err := tablefile.Open(path)
	if err != nil {
		return nil, err
	}
	if s, err = r.parquetStream(path, content); err != nil {
		f.Close()
		return nil, err
	}
	p := s.source.(*parquetRows)
	p.file, p.micros = f, r.Times
	return s, nil
}

// parquetStream is openParquet for the content of a file.
func (r TableReader) parquetStream(path string, content *io.SectionReader) (*Stream, error) {
	table, err := tablefile.OpenParquet(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := CheckPaddings(r.Paddings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &parquetRows{path: path, table: table, group: -1, end: len(table.RowGroups()), paddings: r.Paddings}
	s := &Stream{Path: path, Rows: max(0, table.NumRows()), source: p}
	for at := range table.Schema().Columns() {
		s.Columns = append(s.Columns, p.columns(at)...)
	}
	if err := checkNames(s.Columns); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s.useAll(), nil
}

func (p *parquetRows) next(b *batch, n int) (err error) {
	defer tablefile.Damaged(p.path, &err)
	if p.kinds == nil {
		if p.kinds, err = kindsOf(p, b); err != nil {
			return err
		}
	}
	for b.n < n {
		if p.left == 0 {
			if err := p.nextGroup(b); err == io.EOF && b.n > 0 {
				return nil
			} else if err != nil {
				return err
			}
			continue
		}
		if err := p.rows(b, int(min(p.left, int64(n-b.n), parquetBatch))); err != nil {
			return err
		}
	}
	return nil
}

// parquetBatch is the number of rows that are decoded at a time.
const parquetBatch = 1024

// nextGroup opens the columns of the next row group.
func (p *parquetRows) nextGroup(b *batch) error {
	p.closeGroup()
	groups := p.table.RowGroups()
	if p.group++; p.group >= p.end {
		p.group = p.end
		return io.EOF
	}
	g := groups[p.group]
	p.left = max(0, g.NumRows())
	chunks := g.ColumnChunks()
	for j, u := range b.use {
		leaf := p.leaves[u.at]
		i := slices.IndexFunc(p.open, func(c *parquetChunk) bool { return c.at == leaf.at })
		if i < 0 {
			i, p.open = len(p.open), append(p.open, &parquetChunk{Column: tablefile.NewColumn(chunks[leaf.at]), parquetLeaf: leaf})
		}
		p.open[i].uses = append(p.open[i].uses, j)
	}
	return nil
}

// rows adds n rows of the group.
func (p *parquetRows) rows(b *batch, n int) error {
	k := len(b.use)
	from := len(b.values)
	b.values = append(b.values, make([]float64, n*k)...)
	for _, c := range p.open {
		p.buffer = append(p.buffer[:0], make([]parquet.Value, n*c.width)...)
		if err := p.fill(b.use[c.uses[0]].name, c, n); err != nil {
			return err
		}
		for _, j := range c.uses {
			leaf := &p.leaves[b.use[j].at]
			for i := range n {
				v, ok := p.number(leaf, i)
				if !ok {
					v = p.cell(b, j, i, p.buffer[i*c.width+leaf.place])
				}
				b.values[from+i*k+j] = v
			}
		}
	}
	b.n, p.row, p.left = b.n+n, p.row+n, p.left-int64(n)
	return b.room()
}

// cell returns the value of a cell, which is in row i after the rows of b, and adds its word.
func (p *parquetRows) cell(b *batch, j, i int, cell parquet.Value) float64 {
	v, word, number := 0.0, "", false
	if !cell.IsNull() {
		v, word, number = p.kinds[j].value(cell)
	}
	switch {
	case number && kernel.Finite(v) && !b.use[j].text:
		if p.kinds[j].whole && math.Abs(v) >= tablefile.Exact {
			b.note(b.use[j].name, p.row+i, p.kinds[j].exact(cell))
		}
		return v
	case number && b.use[j].text && p.kinds[j].exact != nil:
		word = p.kinds[j].exact(cell)
	case number:
		word = tablefile.Number(v)
	}
	if b.words[j] == nil {
		b.words[j] = new(Words)
	}
	b.words[j].add(b.n+i, []byte(word), p.row+i)
	return math.NaN()
}

func (p *parquetRows) closeGroup() {
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

func (p *parquetRows) close() {
	p.closeGroup()
	_ = p.file.Close() // it was read only
}

// kindsOf returns the kinds of the columns in use.
func kindsOf(p *parquetRows, b *batch) ([]parquetKind, error) {
	kinds := make([]parquetKind, 0, len(b.use))
	for _, u := range b.use {
		at := p.leaves[u.at]
		leaf, _ := p.table.Schema().Lookup(p.table.Schema().Columns()[at.at]...)
		kind := parquetKind{}
		if leaf.Node != nil && (leaf.MaxRepetitionLevel == 0 || at.list) {
			kind = kindOfType(leaf.Node.Type(), p.micros)
		}
		if kind.value == nil {
			return nil, fmt.Errorf("%s: column %q: expected numbers, text, booleans, dates or times, found %v", p.path, u.name, leaf.Node)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func asNumber(f func(parquet.Value) float64) func(parquet.Value) (float64, string, bool) {
	return func(v parquet.Value) (float64, string, bool) { return f(v), "", true }
}

func asWord(f func(parquet.Value) string) func(parquet.Value) (float64, string, bool) {
	return func(v parquet.Value) (float64, string, bool) { return 0, f(v), false }
}

// kindOfType says how values of a type are read, timestamps as numbers if micros is true; the zero
// value means that they are not.
func kindOfType(t parquet.Type, micros bool) parquetKind {
	if l := t.LogicalType(); l != nil && l.Value != nil {
		if k, ok := kindOfLogical(t, l.Value, micros); ok {
			return k
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return parquetKind{value: asWord(func(v parquet.Value) string { return fmt.Sprint(v.Boolean()) })}
	case parquet.Int32:
		return parquetKind{value: asNumber(func(v parquet.Value) float64 { return float64(v.Int32()) })}
	case parquet.Int64:
		return parquetKind{whole: true, exact: digitsOf, value: asNumber(func(v parquet.Value) float64 { return float64(v.Int64()) })}
	case parquet.Int96:
		return parquetKind{value: asWord(func(v parquet.Value) string { return stamp(julian(v)) })}
	case parquet.Float:
		return parquetKind{value: asNumber(func(v parquet.Value) float64 { return float64(v.Float()) })}
	case parquet.Double:
		return parquetKind{value: asNumber(func(v parquet.Value) float64 { return v.Double() })}
	case parquet.ByteArray:
		return parquetKind{value: asWord(func(v parquet.Value) string { return strings.TrimSpace(string(v.ByteArray())) })}
	}
	return parquetKind{}
}

// kindOfLogical is kindOfType for a type with a meaning; the second result is false where the
// values are what they are without it.
func kindOfLogical(t parquet.Type, l format.LogicalTypeValue, micros bool) (parquetKind, bool) {
	switch l := l.(type) {
	case *format.DateType:
		return parquetKind{value: asWord(func(v parquet.Value) string {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
		})}, true
	case *format.TimestampType:
		unit := unitOf(l.Unit)
		if micros {
			number := func(v parquet.Value) float64 { return float64(since(v.Int64(), unit).UnixMicro()) }
			return parquetKind{whole: true, value: asNumber(number), exact: func(v parquet.Value) string {
				return strconv.FormatInt(since(v.Int64(), unit).UnixMicro(), 10)
			}}, true
		}
		return parquetKind{value: asWord(func(v parquet.Value) string { return stamp(since(v.Int64(), unit)) })}, true
	case *format.TimeType:
		unit := unitOf(l.Unit)
		return parquetKind{value: asWord(func(v parquet.Value) string {
			n := int64(v.Int32())
			if t.Kind() == parquet.Int64 {
				n = v.Int64()
			}
			return since(n, unit).Format("15:04:05.999999999")
		})}, true
	case *format.IntType:
		if l.IsSigned {
			return parquetKind{}, false
		}
		return unsignedKind(t.Kind() == parquet.Int32), true
	case *format.DecimalType:
		return parquetKind{
			exact: func(v parquet.Value) string { return digits(v, l.Scale) },
			value: asNumber(func(v parquet.Value) float64 { return decimal(v, l.Scale) }),
		}, true
	case *format.Float16Type, *format.UUIDType, *format.BsonType, *format.VariantType:
		return parquetKind{}, true
	}
	return parquetKind{}, false
}

// unsignedKind is the kind of whole numbers without a sign, of 32 bits or of 64.
func unsignedKind(short bool) parquetKind {
	number := func(v parquet.Value) uint64 {
		if short {
			return uint64(v.Uint32())
		}
		return v.Uint64()
	}
	return parquetKind{
		whole: true,
		exact: func(v parquet.Value) string { return strconv.FormatUint(number(v), 10) },
		value: asNumber(func(v parquet.Value) float64 { return float64(number(v)) }),
	}
}

// unitOf returns how many of a unit are in a second.
func unitOf(u format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	}
	return 1e9
}

// since returns the time n units after the start of 1970.
func since(n, unit int64) time.Time { return time.Unix(n/unit, n%unit*(1e9/unit)).UTC() }

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05.999999999") }

// julian returns the time in a value of 96 bits: nanoseconds of the day, and the Julian day.
func julian(v parquet.Value) time.Time {
	i := v.Int96()
	const epoch = 2440588 // the Julian day of 1970-01-01
	return time.Unix((int64(i[2])-epoch)*86400, int64(uint64(i[1])<<32|uint64(i[0]))).UTC()
}

// decimal returns a number that is stored as an integer, in units of 10 to the power of −scale.
func decimal(v parquet.Value, scale int32) float64 {
	f, _ := new(big.Float).SetInt(units(v)).Float64()
	return f / math.Pow(10, float64(scale))
}

// digits is the text of a decimal, without zeros at the end of its fraction.
func digits(v parquet.Value, scale int32) string {
	const most = 76 // of a decimal of 256 bits
	if scale < 0 || scale > most {
		return tablefile.Number(decimal(v, scale))
	}
	n := units(v)
	text := new(big.Int).Abs(n).String()
	if scale > 0 {
		text = strings.Repeat("0", max(0, int(scale)+1-len(text))) + text
		whole, rest := text[:len(text)-int(scale)], text[len(text)-int(scale):]
		text = strings.TrimSuffix(whole+"."+strings.TrimRight(rest, "0"), ".")
	}
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}

// units returns the integer that is stored for a decimal.
func units(v parquet.Value) *big.Int {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		return n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		return n.SetInt64(v.Int64())
	}
	b := v.ByteArray() // in two's complement, the highest byte first
	n.SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// digitsOf is the text of a whole number.
func digitsOf(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }
