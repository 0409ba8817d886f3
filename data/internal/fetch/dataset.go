package fetch

import (
	"errors"
	"io/fs"
)

// A Dataset describes a set of public files and the addresses from which they come.
type Dataset struct {
	Name    string // the short name, as the command takes it
	Title   string // the full name
	Source  string // the authors' page
	Licence string // of the data
	// Mirrors are addresses, to which a file's name is appended. They are tried in this
	// order. Without any, the files are not public.
	Mirrors []string
	// Manual is added to the error where no mirror delivers. It says which files to put
	// into the folder by hand.
	Manual string
	Files  []File // all files of the set
	// Or, if it is not nil, reads the folder dir to the end. It returns nil if the folder
	// holds the data in another valid form than Files.
	Or func(dir string) error
}

// A File is one file of a data set. Its content is verified, so that it does not matter who
// runs a mirror. If the publisher changes a file without notice, its size and sum are not
// known, and Check decides whether the content is right.
type File struct {
	Name   string // the file's path in the data set's folder, with / between names
	Size   int64  // in bytes; 0 if it is not known, and then at most 2 GiB come, by HTTPS only
	SHA256 string // lower-case hexadecimal; known if and only if Size is
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

// Missing returns the files that are absent from the folder dir or have other content than
// expected. It returns none if the folder holds the data in another form ([Dataset.Or]). It
// reads the files of the right size to the end. An error means that a file cannot be read.
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
