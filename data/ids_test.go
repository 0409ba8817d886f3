package data

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestNumbersAsText: cells of numbers that are read as text, such as the names of rows, are what the file has, to the last
// digit.
func TestNumbersAsText(t *testing.T) {
	type row struct {
		Int      int64   `parquet:"int"`
		Unsigned uint64  `parquet:"unsigned"`
		Small    int32   `parquet:"small"`
		Decimal  int64   `parquet:"decimal,decimal(2:18)"`
		Double   float64 `parquet:"double"`
	}
	rows := []row{
		{1234567, 1234567, 1234567, 123456789, 1234567},
		{9007199254740993, math.MaxUint64, -1234567, -5, 0.25},
		{-9007199254740993, math.MaxUint64 - 1, 0, 100000000000000000, 1e300},
	}
	want := [][]string{
		{"1234567", "9007199254740993", "-9007199254740993"},
		{"1234567", "18446744073709551615", "18446744073709551614"},
		{"1234567", "-1234567", "0"},
		{"1234567.89", "-0.05", "1000000000000000"},
		{"1234567", "0.25", "1e+300"},
	}
	s, err := TableReader{}.Open(put(t, "d.parquet", string(parquetOf(t, rows))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Use([]int{0, 1, 2, 3, 4}, []int{0, 1, 2, 3, 4})
	table, err := s.Next(10)
	if err != nil {
		t.Fatal(err)
	}
	for j, w := range want {
		if got := table.Texts(j); !slices.Equal(got, w) {
			t.Errorf("column %q is %q, want %q", table.Columns[j], got, w)
		}
	}
	numbers := &Table{Columns: []string{"id"}, rows: 2, Values: tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1234567, 0.5}))}
	if got := fmt.Sprint(numbers.Texts(0)); got != "[1234567 0.5]" {
		t.Errorf("texts of numbers are %s", got)
	}
}
