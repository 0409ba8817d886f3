package tabular

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/fetch"
)

// ErrUnknown is wrapped by the error about a name that no set has.
var ErrUnknown = errors.New("unknown table")

// Sets returns the sets there are, in the order of their names.
func Sets() []Set {
	return []Set{airline(), nycFlights(), taxi(), taxiGreen(), year()}
}

// Lookup returns the set with a name. The error for another name is an [ErrUnknown]
// that lists those there are.
func Lookup(name string) (Set, error) {
	all := Sets()
	if i := slices.IndexFunc(all, func(s Set) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return Set{}, fmt.Errorf("%w %q, expected one of %s", ErrUnknown, name, strings.Join(names, ", "))
}

// Open reads the set with a name; see [Set.Open].
func Open(name, folder string, o Options) (*data.Splits, *Report, error) {
	s, err := Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	return s.Open(folder, o)
}

// Downloads returns what package fetch needs to know of each set.
func Downloads() []fetch.Dataset {
	all := Sets()
	d := make([]fetch.Dataset, len(all))
	for i, s := range all {
		d[i] = s.Download
	}
	return d
}

// packed returns a name and those of its packed forms.
func packed(name string) []string { return []string{name, name + ".gz", name + ".bz2", name + ".zip"} }
