package sets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/internal/settings"
)

// A Set is a data set: a table of numbers with one target, or labelled images. [Set.Table]
// reads a table and [Set.Images] reads images.
type Set struct {
	// Dataset has the Name of the set, its Title, the Source and the Licence of its data, and
	// its Files. A set without files is built in.
	fetch.Dataset
	Folder string // of its files, below the data folder, with / between names; "" if built in
	Group  string // names several sets together; "" if the set is in no group
	Splits int    // the number of divisions that the set comes with, at least 1; a seed chooses one
	Other  string // the set whose test images are out of distribution for this one; "" for none

	table  func(dir string, split int) (*Parts, error) // nil for images
	images func(dir string) (*image.Splits, error)     // nil for tables
}

// Parts are the rows of a table, divided as its authors did. Validation is nil where the
// authors keep no rows for it. Train and Test may be the same rows.
type Parts struct {
	Train, Validation, Test *data.Set // the rows of each part; Validation may be nil
}

// ErrUnknown is wrapped by the error about a name that no set and no group has.
var ErrUnknown = errors.New("unknown data set")

// A MissingError says that files of a set are not in the data folder, and how to get them.
type MissingError struct {
	Name string // of the set
	Err  error  // names the files; it wraps fs.ErrNotExist
}

// Error returns one line.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %v; get it with \"valla data get %s\", or name the folder that has it by the setting data", e.Name, e.Err, e.Name)
}

// Unwrap returns Err.
func (e *MissingError) Unwrap() error { return e.Err }

// All returns all sets, in the order of their names.
func All() []Set {
	all := slices.Concat(images(), tables())
	slices.SortFunc(all, func(a, b Set) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup returns the set with a name. The error for another name is an [ErrUnknown] that
// lists the names.
func Lookup(name string) (Set, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s Set) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Set{}, unknown(name, all, false)
}

// Select returns the sets that a name stands for: the set with that name, or all sets of
// the group with that name. The error for another name is an [ErrUnknown] that lists the
// names of sets and groups.
func Select(name string) ([]Set, error) {
	all := All()
	var found []Set
	for _, s := range all {
		if s.Name == name || s.Group == name && name != "" {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, unknown(name, all, true)
	}
	return found, nil
}

func unknown(name string, all []Set, groups bool) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		if groups && s.Group != "" {
			names = append(names, s.Group)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%w %q, expected one of %s%s", ErrUnknown, name, strings.Join(slices.Compact(names), ", "), settings.Nearest(name, names))
}

// BuiltIn says whether the set needs no files, because the program contains or generates it.
func (s Set) BuiltIn() bool { return len(s.Files) == 0 }

// HasImages says whether the set holds images; otherwise it is a table.
func (s Set) HasImages() bool { return s.images != nil }

// Dir returns the folder of the set's files below the data folder.
func (s Set) Dir(folder string) string { return filepath.Join(folder, filepath.FromSlash(s.Folder)) }

// Get downloads the files that are not yet in the set's folder below the data folder. A
// download that broke off goes on where it ended, and Get verifies every file. onProgress, if
// it is not nil, is called whenever bytes of a file have come: done bytes of total are on the
// disk, and total is 0 as long as it is not known. Get does nothing for a set that is built in.
// The error is one line that holds the last answer of every mirror, or it wraps the error of
// ctx or of the disk.
func (s Set) Get(ctx context.Context, folder string, onProgress func(file string, done, total int64)) error {
	if s.BuiltIn() {
		return nil
	}
	return fetch.Get(ctx, s.Dataset, fetch.Options{Dir: s.Dir(folder), OnProgress: onProgress})
}

// Table reads a table from its files below the data folder. The seed chooses the division
// with the number seed modulo Splits. The error is a [MissingError] if files are absent, and
// otherwise one line that begins with the set's name.
func (s Set) Table(folder string, seed uint64) (*Parts, error) {
	if s.table == nil {
		return nil, fmt.Errorf("%s: expected a table, found a set of images", s.Name)
	}
	p, err := s.table(s.Dir(folder), int(seed%uint64(s.Splits)))
	return p, s.explain(err)
}

// Images reads the images of the set from its files below the data folder. Its errors have
// the form of the errors of [Set.Table].
func (s Set) Images(folder string) (*image.Splits, error) {
	if s.images == nil {
		return nil, fmt.Errorf("%s: expected a set of images, found a table", s.Name)
	}
	i, err := s.images(s.Dir(folder))
	return i, s.explain(err)
}

// explain puts the set's name before an error of reading. If files are missing, it adds how
// to get them.
func (s Set) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &MissingError{Name: s.Name, Err: err}
	default:
		return fmt.Errorf("%s: %w", s.Name, err)
	}
}
