package calibrate

import (
	"fmt"
	"slices"
)

// Groups divide rows by their inputs into groups, each of which has scores and quantiles of its own (Mondrian conformal
// prediction, Vovk et al. 2005), so that the guarantee of [Conformal] holds in each group.
type Groups struct {
	Name string `json:"name"` // name of the column
	// Inputs are the numbers of the inputs that make the bin: one input, whose value is compared with the Edges, or one input for each
	// category, of which the largest is the bin.
	Inputs []int     `json:"inputs"`
	Edges  []float64 `json:"edges,omitempty"` // largest values of all bins but the last, ascending
	Of     []int     `json:"of"`              // group of each bin
	Sizes  []int     `json:"sizes"`           // number of scores of each group
}

// mostGroups is the largest number of groups of a column of numbers.
const mostGroups = 10

// FindGroups divides n rows with d inputs x [n,d] by the inputs of a column into groups of at least least rows. The values of a
// column with few values have groups of their own, and so have the categories of a column that is one input of codes. Other
// columns of numbers have up to ten groups of nearly the same size. Categories with fewer rows are one group together. It is an error if there are not two groups.
func FindGroups(name string, inputs []int, codes bool, x []float64, d, least int) (*Groups, error) {
	g := &Groups{Name: name, Inputs: inputs}
	n := len(x) / d
	switch {
	case codes:
		g.Edges = edges(column(x, d, inputs[0]), n, 1)
	case len(inputs) == 1:
		g.Edges = edges(column(x, d, inputs[0]), min(mostGroups, n/max(1, least)), least)
	}
	bins := len(g.Edges) + 1
	if len(inputs) > 1 {
		bins = len(inputs)
	}
	counts := make([]int, bins)
	for row := range slices.Chunk(x, d) {
		counts[g.bin(row)]++
	}
	rest := -1
	for _, count := range counts {
		switch {
		case count >= least:
			g.Of, g.Sizes = append(g.Of, len(g.Sizes)), append(g.Sizes, count)
		case rest >= 0:
			g.Of = append(g.Of, rest)
			g.Sizes[rest] += count
		default:
			rest = len(g.Sizes)
			g.Of, g.Sizes = append(g.Of, rest), append(g.Sizes, count)
		}
	}
	if rest >= 0 && g.Sizes[rest] < least {
		g.join(rest)
	}
	if len(g.Sizes) < 2 {
		return nil, fmt.Errorf("the column %q does not divide the %d rows into groups of %d rows or more", name, n, least)
	}
	return g, nil
}

// join adds a group to the largest one.
func (g *Groups) join(small int) {
	large := 0
	for k, size := range g.Sizes {
		if k != small && (large == small || size > g.Sizes[large]) {
			large = k
		}
	}
	if large == small {
		return
	}
	g.Sizes[large] += g.Sizes[small]
	g.Sizes = slices.Delete(g.Sizes, small, small+1)
	for i, k := range g.Of {
		if k == small {
			k = large
		}
		if k > small {
			k--
		}
		g.Of[i] = k
	}
}

// column returns a column of x [n,d], ascending.
func column(x []float64, d, j int) []float64 {
	out := make([]float64, 0, len(x)/d)
	for i := j; i < len(x); i += d {
		out = append(out, x[i])
	}
	slices.Sort(out)
	return out
}

// edges returns bounds of up to most bins of ascending values, each with least values or more. They lie in the middle between two
// values, so that rounding moves no value to another bin.
func edges(v []float64, most, least int) (out []float64) {
	few := len(slices.Compact(slices.Clone(v))) <= mostGroups
	size := max(least, (len(v)+most-1)/max(1, most))
	if few {
		size = least
	}
	first := 0
	for i := 1; i < len(v); i++ {
		if v[i] > v[i-1] && i-first >= size && len(v)-i >= least {
			out, first = append(out, v[i-1]+(v[i]-v[i-1])/2), i
		}
	}
	return out
}

// bin returns the bin of a row of inputs.
func (g *Groups) bin(row []float64) int {
	if len(g.Inputs) == 1 {
		i, _ := slices.BinarySearch(g.Edges, row[g.Inputs[0]])
		return i
	}
	best := 0
	for k, j := range g.Inputs {
		if row[j] > row[g.Inputs[best]] {
			best = k
		}
	}
	return best
}

// Group returns the group of a row of inputs.
func (g *Groups) Group(row []float64) int { return g.Of[g.bin(row)] }

// Check returns an error if the groups are wrong for rows of d inputs and n scores.
func (g *Groups) Check(d, n int) error {
	bins, sum := len(g.Edges)+1, 0
	if len(g.Inputs) > 1 {
		bins = len(g.Inputs)
	}
	for _, size := range g.Sizes {
		sum += size
	}
	bad := func(list []int, most int) bool {
		return len(list) == 0 || slices.Min(list) < 0 || slices.Max(list) >= most
	}
	if bad(g.Inputs, d) || len(g.Of) != bins || bad(g.Of, len(g.Sizes)) || slices.Min(g.Sizes) < 1 || sum != n || !slices.IsSorted(g.Edges) {
		return fmt.Errorf("groups %q of %d inputs with the bins %v and the sizes %v, expected groups of all %d rows by some of %d inputs", g.Name, len(g.Inputs), g.Of, g.Sizes, n, d)
	}
	return nil
}

// group returns the scores of a target in a group, ascending; all scores if there are no groups.
func (c *Conformal) group(target, group int) []float64 {
	all := c.of(target)
	if c.Groups == nil {
		return all
	}
	first := 0
	for _, size := range c.Groups.Sizes[:group] {
		first += size
	}
	return all[first : first+c.Groups.Sizes[group]]
}
