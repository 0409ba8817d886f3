package tabular

import (
	"math"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// sane fails the test unless a reader's rows are finite, and its error one line that
// begins with the file's name.
func sane(t *testing.T) (take, func(error)) {
	rows := func(cells []float64) error {
		for _, v := range cells {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("row %v", cells)
			}
		}
		return nil
	}
	return rows, func(err error) {
		if err != nil {
			expectError(t, err, "file:")
			if err.Error()[:5] != "file:" {
				t.Errorf("error %q does not begin with the file", err)
			}
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"", "\n", fourRows, "a,b\r\n1,2\r\n", "b,x,a\n1,\"x\"\"y\",2\n", "a,b\n1,\"2\n", "a,b\n1\n", "a,a,b\n", "\ufeffa,b\nNaN,1\n",
		"a,b\n0x1p-2,1_0\n", "1,2\n3,4\n", "a,b\n1,2560\n", "PK\x03\x04", "\x1f\x8b", "BZh9",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, content []byte, bare bool) {
		fields := numbers("a", "b")
		fields[1].convert, fields[1].expected = minutes, "a time"
		rows, check := sane(t)
		_, err := decodeCSV("file", section(content), layout{fields: fields, bare: bare}, rows)
		check(err)
	})
}

func FuzzPacked(f *testing.F) {
	for _, seed := range [][]byte{
		fixture.Gzip(f, []byte(fourRows)), []byte(bzipped), zipped(f, []byte(fourRows), "x.csv"),
		zipped(f, []byte(fourRows), "x.csv", "y.csv"), zipped(f, nil, "x"), fixture.Gzip(f, nil),
	} {
		f.Add(seed)
		f.Add(seed[:len(seed)*2/3])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, check := sane(t)
		n := 0
		_, err := decodeCSV("file", section(content), plain().csv, func(cells []float64) error {
			if n++; n > 1000 { // a few bytes can hold very many rows
				return errEnough
			}
			return rows(cells)
		})
		check(err)
	})
}

func FuzzParquet(f *testing.F) {
	good := written(f, 2, aRide(1), aRide(2), aRide(3))
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Add([]byte("a,b\n1,2\n"))
	f.Add([]byte{})
	for i := 0; i < len(good); i += 97 {
		f.Add(flip([]byte(string(good)), i))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, check := sane(t)
		n := 0
		check(decodeParquet("file", section(content), taxi().parquet, func(cells []float64) error {
			if n++; n > 1000 {
				return errEnough
			}
			return rows(cells)
		}))
	})
}
