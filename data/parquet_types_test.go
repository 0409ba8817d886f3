package data

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"pgregory.net/rapid"
)

// typed is a row of a Parquet file with a column of each type that has a meaning.
type typed struct {
	Day   int32   `parquet:"day,date"`
	Milli int64   `parquet:"milli,timestamp(millisecond)"`
	Micro int64   `parquet:"micro,timestamp(microsecond)"`
	Nano  int64   `parquet:"nano,timestamp(nanosecond)"`
	Small int32   `parquet:"small,decimal(2:9)"`
	Large int64   `parquet:"large,decimal(3:18)"`
	Tiny  uint32  `parquet:"tiny"`
	Huge  uint64  `parquet:"huge"`
	Flag  bool    `parquet:"flag"`
	Half  float32 `parquet:"half"`
	Text  string  `parquet:"text"`
}

// TestParquetTypes: the columns of every type have the cells that a text of the same table has.
func TestParquetTypes(t *testing.T) {
	at := time.Date(1969, 12, 31, 23, 59, 58, 250e6, time.UTC)
	rows := []typed{
		{0, 0, 0, 0, 0, 0, 0, 0, false, 0, "a"},
		{-1, at.UnixMilli(), at.UnixMicro(), at.UnixNano(), -12345, 1234567, 1<<32 - 1, 1 << 63, true, 0.5, " b "},
	}
	s, err := openSection("f.parquet", parquetOf(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.All(0)
	if err != nil {
		t.Fatal(err)
	}
	const before = "1969-12-31 23:59:58.25"
	for name, want := range map[string]string{
		"day": "[1970-01-01 1969-12-31]", "milli": "[1970-01-01 00:00:00 " + before + "]",
		"micro": "[1970-01-01 00:00:00 " + before + "]", "nano": "[1970-01-01 00:00:00 " + before + "]",
		"small": "[0 -123.45]", "large": "[0 1234.567]", "tiny": "[0 4.294967295e+09]", "huge": "[0 9.223372036854776e+18]",
		"flag": "[false true]", "half": "[0 0.5]", "text": "[a b]",
	} {
		if got := cellsOf(t, table, name); fmt.Sprint(got) != want {
			t.Errorf("column %s is %v, want %s", name, got, want)
		}
	}
}

// cellsOf returns the cells of a column as text.
func cellsOf(t *testing.T, table *Table, name string) (out []string) {
	t.Helper()
	j, err := table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	w, k := table.wordsOf(j), len(table.Columns)
	for i := range table.N() {
		if w != nil && w.Codes[i] > 0 {
			out = append(out, w.List[w.Codes[i]-1].Text)
		} else {
			out = append(out, key(table.Values.Float64s()[i*k+j]))
		}
	}
	return out
}

// TestTimes: times in every unit agree with package time, also before 1970.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "n")
		for unit, want := range map[int64]time.Time{1e3: time.UnixMilli(n), 1e6: time.UnixMicro(n), 1e9: time.Unix(0, n)} {
			if got := since(n, unit); !got.Equal(want) {
				t.Errorf("%d in units of 1/%d s: %v, want %v", n, unit, got, want)
			}
		}
		day, nanos := rapid.Uint32Range(2_400_000, 2_500_000).Draw(t, "day"), rapid.Uint64Range(0, 86400e9-1).Draw(t, "nanos")
		v := parquet.ValueOf(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), day})
		want := time.Date(1970, 1, 1+int(day)-2440588, 0, 0, 0, int(nanos), time.UTC)
		if got := julian(v); !got.Equal(want) {
			t.Errorf("Julian day %d and %d ns: %v, want %v", day, nanos, got, want)
		}
	})
}

// TestDecimals: a decimal in two's complement of any length has the value of the integer over the
// power of ten.
func TestDecimals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		scale := rapid.Int32Range(0, 18).Draw(t, "scale")
		bytes := big.NewInt(n).FillBytes(make([]byte, 12)) // of |n|
		if n < 0 {                                         // −n = not(n−1)
			for i, b := range new(big.Int).Sub(new(big.Int).Neg(big.NewInt(n)), big.NewInt(1)).FillBytes(make([]byte, 12)) {
				bytes[i] = ^b
			}
		}
		want := decimal(parquet.ValueOf(n), scale)
		if got := decimal(parquet.ValueOf(bytes), scale); got != want {
			t.Errorf("%d with the scale %d: %g of bytes, %g of an integer", n, scale, got, want)
		}
		exact, _ := new(big.Rat).SetFrac(big.NewInt(n), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).Float64()
		if d := want - exact; d > 1e-15*max(exact, -exact) || -d > 1e-15*max(exact, -exact) {
			t.Errorf("%d with the scale %d: %g, want %g", n, scale, want, exact)
		}
	})
}

// TestDamagedParquet: a Parquet file that is cut off, or in which bytes are changed, is read or is an
// error of one line that names the file.
func TestDamagedParquet(t *testing.T) {
	whole := parquetOf(t, []typed{{Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "d"}})
	read := func(content []byte) error {
		s, err := openSection("f.parquet", content)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.All(0)
		return err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 97 {
		if err := read(whole[:n]); err == nil || !strings.Contains(err.Error(), "f.parquet") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d of %d bytes: error %v", n, len(whole), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		changed := slices.Clone(whole)
		changed[rapid.IntRange(0, len(whole)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "bits")
		if err := read(changed); err != nil && (!strings.Contains(err.Error(), "f.parquet") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("error %q", err)
		}
	})
}

// TestEveryDamagedByte: wherever a file is cut off, it is refused, and wherever a byte is wrong,
// nothing worse happens than an error of one line.
func TestEveryDamagedByte(t *testing.T) {
	var rows []typed
	for i := range 4 {
		n := int64(i)
		rows = append(rows, typed{int32(i), n * 1e3, n * 1e6, n * 1e9, int32(i), n, uint32(i), uint64(i), i%2 == 0, float32(i), fmt.Sprint(i % 3)})
	}
	good := parquetOf(t, rows)
	decode := func(content []byte, micros bool) error {
		s, err := openSection("a.parquet", content)
		if err != nil {
			return err
		}
		defer s.Close()
		s.source.(*parquetRows).micros = micros
		_, err = s.Next(1000)
		return err
	}
	for n := range good {
		expectError(t, decode(good[:n], n%2 == 0), "a.parquet: ", "")
	}
	refused := 0
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		if err := decode(bad, i%2 == 0); err != nil {
			expectError(t, err, "a.parquet: ", "")
			refused++
		}
	}
	if refused < len(good)/3 {
		t.Errorf("only %d of %d damaged files are refused", refused, len(good))
	}
}
