package fetch

import (
	"errors"
	"io/fs"
)

// A Dataset is a set of public files and where they can be had.
type Dataset struct {
	Name    string // the short name, as the command takes it
	Title   string // the full name
	Source  string // the authors' page
	Licence string // of the data
	// Mirrors are the addresses to which a file's name is appended, in the order of
	// trying. Without any, the files are not public.
	Mirrors []string
	// Manual completes the error where no mirror delivers: it says what to put into the
	// folder instead. "" adds nothing.
	Manual string
	Files  []File
	// Or reads the folder dir to the end and returns nil where that holds the data in
	// another form than Files, which does as well. nil: there is no other form.
	Or func(dir string) error
}

// A File is one file of a data set. Its content must be the expected one, so that it does
// not matter who runs a mirror. Where the publisher changes a file without notice, its
// size and sum are not known, and Check decides.
type File struct {
	Name   string // with / between folders, where it is in one
	Size   int64  // in bytes; 0: not known
	SHA256 string // lower-case hexadecimal; known where Size is
	// Check reads the file at path and returns an error where its content is wrong. Only
	// files of unknown size need it.
	Check func(path string) error
}

// known says whether size and sum of the file are known.
func (f File) known() bool { return f.Size > 0 }

// Size returns the sum of the known sizes of the files, in bytes.
func (d Dataset) Size() (n int64) {
	for _, f := range d.Files {
		n += f.Size
	}
	return n
}

// Missing returns the files that are not in the folder dir or have other content than
// expected; none where the folder holds the data in another form ([Dataset.Or]). It reads
// those of the right size to the end. An error is one of reading.
func (d Dataset) Missing(dir string) ([]File, error) {
	var missing []File
	for _, f := range d.Files {
		err := f.check(f.in(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errContent):
			missing = append(missing, f)
		case err != nil:
			return nil, err
		}
	}
	if len(missing) > 0 && d.Or != nil && d.Or(dir) == nil {
		return nil, nil
	}
	return missing, nil
}
