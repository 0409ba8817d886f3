package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// prefix begins the names of temporary files. Nothing else has such a name, so that the files
// of killed processes are recognised.
const prefix = ".valla-tmp-"

// swept holds the folders that this process has looked through.
var swept sync.Map

// temporary returns a new file in dir, locked for as long as it is open. The first call for a
// folder removes what killed processes have left there.
func temporary(dir string) (*os.File, error) {
	if _, done := swept.LoadOrStore(dir, true); !done {
		Sweep(dir)
	}
	for range 10 {
		f, err := os.CreateTemp(dir, prefix+"*")
		if err != nil {
			return nil, err
		}
		if lock(f) && there(f) {
			return f, nil
		}
		f.Close() // another process has swept it before it was locked
		os.Remove(f.Name())
	}
	return nil, errors.New("other processes remove the temporary files")
}

// there tells whether the name of an open file still belongs to the file.
func there(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// Sweep removes the temporary files in dir that belong to no living process. It ignores
// errors, since whatever is left does no harm.
func Sweep(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if path := filepath.Join(dir, name); strings.HasPrefix(name, prefix) && abandoned(path) {
			os.Remove(path)
		}
	}
}
