package tabular

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// sane fails the test unless a set reads the content as finite numbers or refuses it with an
// error of one line, which begins with the file's name.
func sane(t *testing.T, s Set, content []byte, parquet bool) {
	path := put(t, "file", content)
	s.most, s.split = 1000, counts(2, 1) // a few bytes can hold very many rows
	r := s.reading(true)
	if err := r.file(path, parquet); err != nil {
		expectError(t, err, path)
		if !strings.HasPrefix(err.Error(), path) {
			t.Errorf("error %q does not begin with the file", err)
		}
	}
	for _, v := range append(r.x, r.y...) {
		if !kernel.Finite(v) {
			t.Fatalf("values %v, %v", r.x, r.y)
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
		s := plain()
		s.text.bare = bare
		s.text.derive = func(cells, row []float64) error {
			copy(row, cells)
			if _, ok := minutes(cells[1]); !ok {
				return errors.New("expected a time")
			}
			return nil
		}
		sane(t, s, content, false)
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
	f.Fuzz(func(t *testing.T, content []byte) { sane(t, plain(), content, false) })
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
	f.Fuzz(func(t *testing.T, content []byte) { sane(t, taxi(), content, true) })
}
