package data

import (
	"fmt"
	"math"
	"slices"
)

// ColumnProfile describes the distribution of an input in few numbers, with which later rows can be compared.
type ColumnProfile struct {
	Name      string    `json:"name"`             // name of the input
	Rows      int       `json:"rows"`             // number of rows
	Quantiles []float64 `json:"quantiles"`        // smallest value, nine deciles, largest value
	Edges     []float64 `json:"edges,omitempty"`  // largest values of all bins but the last, ascending; none: all values are equal
	Shares    []float64 `json:"shares"`           // shares of the rows in the bins
	Serial    bool      `json:"serial,omitempty"` // each row has a whole number of its own, like an id
}

const (
	profileRows    = 20_000 // most rows of a profile
	profileColumns = 256    // most columns of a profile
	fewValues      = 10     // most values that have a bin each
	leastSerial    = 100    // least number of rows that can be serial
)

// Profile returns the profiles of the inputs of a set, [D]. Of many rows it takes rows at equal distances. It returns nil
// if the inputs are no columns, or more than 256.
func (s *Set) Profile() []ColumnProfile {
	if d := len(s.Features); d == 0 || d > profileColumns {
		return nil
	}
	var rows []int
	for i := 0; i < s.N(); i += (s.N() + profileRows - 1) / profileRows {
		rows = append(rows, i)
	}
	return Profiles(s.Features, Float64s(TakeRows(s.X, rows)))
}

// Profiles returns the profiles [D] of the columns of rows x [N,D], at least one, by their names [D].
func Profiles(names []string, x []float64) []ColumnProfile {
	out := make([]ColumnProfile, len(names))
	for j, name := range names {
		column := make([]float64, 0, len(x)/len(names))
		for i := j; i < len(x); i += len(names) {
			column = append(column, x[i])
		}
		out[j] = ProfileOf(name, column)
	}
	return out
}

// ProfileOf returns the profile of a column of numbers, at least one, which it sorts.
func ProfileOf(name string, v []float64) ColumnProfile {
	slices.Sort(v)
	p := ColumnProfile{Name: name, Rows: len(v)}
	for k := range 11 {
		p.Quantiles = append(p.Quantiles, v[k*(len(v)-1)/10])
	}
	values := slices.Compact(slices.Clone(v))
	p.Serial = len(values) == len(v) && len(v) >= leastSerial && !slices.ContainsFunc(v, func(x float64) bool { return x != math.Trunc(x) })
	p.Edges = slices.Compact(slices.Clone(p.Quantiles[1:10]))
	if len(values) <= fewValues {
		p.Edges = values
	}
	if n := len(p.Edges); p.Edges[n-1] == v[len(v)-1] {
		p.Edges = p.Edges[:n-1]
	}
	p.Shares = make([]float64, len(p.Edges)+1)
	for _, x := range v {
		p.Shares[p.Bin(x)] += 1 / float64(len(v))
	}
	return p
}

// Bin returns the number of the bin of a value.
func (p *ColumnProfile) Bin(x float64) int {
	i, _ := slices.BinarySearch(p.Edges, x)
	return i
}

// Check returns an error if the profile cannot be one.
func (p *ColumnProfile) Check() error {
	if p.Rows < 1 || len(p.Quantiles) != 11 || !slices.IsSorted(p.Quantiles) || len(p.Shares) != len(p.Edges)+1 || !slices.IsSorted(p.Edges) {
		return fmt.Errorf("profile of %q: %d rows, %d quantiles, %d bounds and %d shares of bins, expected 11 quantiles and one share more than bounds, ascending", p.Name, p.Rows, len(p.Quantiles), len(p.Edges), len(p.Shares))
	}
	return nil
}
