package report

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
)

// experiment is a plan with the cells of all profiles of an experiment.
type experiment struct {
	result.Found                // with names of rows that differ where settings do
	profiles     []string       // the profiles that were run, the full one first
	cells        []*result.Cell // those that are finished, as they were found
}

// fullProfile is the profile whose rows come first.
const fullProfile = "full"

// merge joins the profiles of each experiment: the full one first, the others as they come.
// Experiments are in the order of the known ones, and so are their rows.
func merge(found []result.Found, known []Known) []experiment {
	slices.SortStableFunc(found, func(a, b result.Found) int {
		rank := func(f result.Found) int { return oneIf(f.Profile != fullProfile) }
		return cmp.Or(placeOf(known, a.Experiment)-placeOf(known, b.Experiment), rank(a)-rank(b))
	})
	var out []experiment
	for _, profiles := range result.Grouped(found, func(f result.Found) string { return f.Experiment }) {
		e := experiment{Found: result.Found{Plan: result.Plan{Experiment: profiles[0].Experiment}}}
		for _, f := range profiles {
			e.join(f)
		}
		if k := placeOf(known, e.Experiment); k < len(known) {
			e.About = cmp.Or(e.About, known[k].About)
			e.sort(known[k].Rows)
		}
		slices.SortStableFunc(e.Data, bySize)
		e.distinguish()
		out = append(out, e)
	}
	return out
}

// sized matches names that end in a number, such as the number of a network's layers.
var sized = regexp.MustCompile(`^(.*\D)(\d+)$`)

// bySize orders the names of data sets that differ only in the number at their end.
func bySize(a, b string) int {
	x, y := sized.FindStringSubmatch(a), sized.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] {
		return 0
	}
	return cmp.Or(len(x[2])-len(y[2]), strings.Compare(x[2], y[2]))
}

// placeOf returns the place of an experiment among the known ones, behind all if it is none.
func placeOf(known []Known, name string) int {
	if i := slices.IndexFunc(known, func(k Known) bool { return k.Name == name }); i >= 0 {
		return i
	}
	return len(known)
}

// join adds the cells of a profile. Of two finished cells of the same row, data set and seed the cell
// that was scored on more kinds of changed images is kept, or the first. A cell counts as missing
// where no profile has it.
func (e *experiment) join(f result.Found) {
	e.About = cmp.Or(e.About, f.About)
	e.profiles, e.Commands, e.Data = result.Union(e.profiles, f.Profile), result.Union(e.Commands, f.Commands...), result.Union(e.Data, f.Data...)
	for i, id := range f.Cells {
		c := f.Done[i]
		k := slices.IndexFunc(e.Done, func(o *result.Cell) bool {
			return o != nil && o.Data == id.Data && o.Seed == id.Seed && (c == nil && o.Same(id) || c != nil && o.Key() == c.Key())
		})
		switch {
		case k < 0:
			if k = slices.IndexFunc(e.Cells, id.Same); k < 0 || e.Done[k] != nil {
				e.Cells, e.Done = append(e.Cells, id), append(e.Done, c)
			} else if c != nil {
				e.Cells[k], e.Done[k] = id, c
			}
		case c != nil && changedImages(c) > changedImages(e.Done[k]):
			e.Cells[k], e.Done[k] = id, c
		}
	}
}

func changedImages(c *result.Cell) int { return len(c.Curves.Rotations) + len(c.Curves.Corrupted) }

// distinguish adds its profile to the name of a row where an earlier one has the same name and
// other settings, and a number where that does not suffice.
func (e *experiment) distinguish() {
	type row struct{ data, name string } // the data set, and the row's name
	keys := map[row]string{}
	for i, c := range e.Done {
		if c == nil {
			continue
		}
		e.cells = append(e.cells, c)
		at := row{c.Data, c.Row}
		for n := 1; keys[at] != "" && keys[at] != c.Key(); n++ {
			at.name = c.Row + ", " + c.Profile
			if n > 1 {
				at.name += " " + strconv.Itoa(n)
			}
		}
		if keys[at] = c.Key(); at.name != c.Row {
			other := *c
			other.Row = at.name
			e.Cells[i], e.Done[i] = other.ID, &other
		}
	}
}

// sort puts the cells in the order of rows. The cells of other rows follow in their order so far.
func (e *experiment) sort(rows []string) {
	at := func(id result.ID) int {
		if i := slices.Index(rows, id.Row); i >= 0 {
			return i
		}
		return len(rows)
	}
	order := make([]int, len(e.Cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return at(e.Cells[a]) - at(e.Cells[b]) })
	cells, done := slices.Clone(e.Cells), slices.Clone(e.Done)
	for i, k := range order {
		e.Cells[i], e.Done[i] = cells[k], done[k]
	}
}
