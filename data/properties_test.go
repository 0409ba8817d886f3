package data

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/internal/dense"
)

// TestTextRoundTrip: the numbers of a table come back from its text, with any separator, with and
// without quotes, and in batches of any size.
func TestTextRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(2, 4).Draw(t, "k")
		number := rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) })
		values := rapid.SliceOfN(number, n*k, n*k).Draw(t, "values")
		separator := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "separator")
		quote := rapid.SampledFrom([]string{"", `"`}).Draw(t, "quote")
		text := &strings.Builder{}
		fmt.Fprintln(text, strings.Join([]string{"a", "b", "c", "d"}[:k], separator))
		for row := range slices.Chunk(values, k) {
			var cells []string
			for _, v := range row {
				cells = append(cells, quote+key(v)+quote)
			}
			fmt.Fprintln(text, strings.Join(cells, separator))
		}
		path := filepath.Join(dir, "f.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		whole, err := ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := whole.Values.Float64s(); !slices.Equal(got, values) || whole.N() != n {
			t.Errorf("%v, want %v", got, values)
		}
		if got := inBatches(t, path, rapid.IntRange(1, n+1).Draw(t, "batch")); !slices.Equal(got, values) {
			t.Errorf("in batches %v, want %v", got, values)
		}
	})
}

// inBatches returns the values of a table that is read some rows at a time.
func inBatches(t *rapid.T, path string, size int) (all []float64) {
	s, err := TableReader{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		b, err := s.Next(size)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.N() > size {
			t.Errorf("a batch of %d rows, at most %d were asked for", b.N(), size)
		}
		all = append(all, b.Values.Float64s()...)
	}
}

// TestStandardizerOfTypes: the same numbers have the same moments in both element types.
func TestStandardizerOfTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d")
		narrow := rapid.SliceOfN(rapid.Float32Range(-1e6, 1e6), n*d, n*d).Draw(t, "x")
		wide := make([]float64, len(narrow))
		for i, v := range narrow {
			wide[i] = float64(v)
		}
		x, x32 := dense.Of(wide, n, d), tensor.New(tensor.WithShape(n, d), tensor.WithBacking(narrow))
		s, err := FitStandardizer(x)
		if err != nil {
			t.Fatal(err)
		}
		if s32, err := FitStandardizer(x32); err != nil || !slices.Equal(s.Mean, s32.Mean) || !slices.Equal(s.Std, s32.Std) {
			t.Errorf("moments %v of float64, %v of float32, error %v", s, s32, err)
		}
	})
}

// TestTakeRowsOfAnyType: rows of every element type and of any shape are the rows with these numbers.
func TestTakeRowsOfAnyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := append([]int{rapid.IntRange(1, 5).Draw(t, "n")}, rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(t, "shape")...)
		rows := rapid.SliceOfN(rapid.IntRange(0, shape[0]-1), 1, 6).Draw(t, "rows")
		dtype := rapid.SampledFrom([]tensor.Dtype{tensor.Float64, tensor.Float32, tensor.Uint8}).Draw(t, "type")
		x := tensor.New(tensor.Of(dtype), tensor.WithShape(shape...))
		width := x.Size() / shape[0]
		for i := range x.Size() {
			switch v := x.Data().(type) {
			case []float64:
				v[i] = float64(i)
			case []float32:
				v[i] = float32(i)
			case []uint8:
				v[i] = uint8(i)
			}
		}
		got := TakeRows(x, rows)
		if got.Dtype() != dtype || !slices.Equal(got.Shape()[1:], x.Shape()[1:]) || got.Shape()[0] != len(rows) {
			t.Fatalf("%v of shape %v, of %v of shape %v", got.Dtype(), got.Shape(), dtype, x.Shape())
		}
		var want []int
		for _, r := range rows {
			for j := range width {
				want = append(want, r*width+j)
			}
		}
		if fmt.Sprint(got.Data()) != fmt.Sprint(want) {
			t.Errorf("rows %v are %v, want %v", rows, got.Data(), want)
		}
	})
}

// TestSplitIsAPartition: every row is in one of the two parts, whose sizes follow from the fraction.
func TestSplitIsAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, fraction := rapid.IntRange(0, 50).Draw(t, "n"), rapid.Float64Range(-0.5, 1.5).Draw(t, "fraction")
		train, test := Split(n, fraction, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		all := slices.Sorted(slices.Values(slices.Concat(train, test)))
		for i, r := range all {
			if i != r {
				t.Fatalf("rows %v and %v of %d", train, test, n)
			}
		}
		if want := math.Round(max(0, min(1, fraction)) * float64(n)); len(all) != n || float64(len(test)) != want {
			t.Errorf("%d and %d of %d rows, want %g for testing", len(train), len(test), n, want)
		}
	})
}

// TestDistinct: rows that differ in a value are different; 0 equals −0, in both element types.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		narrow := rapid.SliceOfN(rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1, 2}), 2*n, 2*n).Draw(t, "x")
		wide, seen := make([]float64, len(narrow)), map[[2]float32]bool{}
		for i, v := range narrow {
			wide[i] = float64(v)
		}
		for row := range slices.Chunk(narrow, 2) {
			seen[[2]float32{row[0] + 0, row[1] + 0}] = true
		}
		limit := rapid.IntRange(1, 9).Draw(t, "limit")
		want := min(limit, len(seen))
		a, b := Distinct(dense.Of(wide, n, 2), limit), Distinct(tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(narrow)), limit)
		if a != want || b != want {
			t.Errorf("%d rows of float64 and %d of float32 are different, want %d", a, b, want)
		}
	})
}
