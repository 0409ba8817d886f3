// Package atomicfile writes files that are either complete or not there: the
// content goes to a temporary file in the target's folder, which replaces the
// target only once every byte is on the disk.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// bufferSize is the size of the write buffer: many of our writers emit a few
// bytes at a time.
const bufferSize = 1 << 20

// Write creates or replaces the file at path with what write emits, with the
// permissions perm (exactly, whatever the umask). The writer given to write is
// buffered.
//
// The content is written to a temporary file in the same folder, flushed,
// synchronised to disk and renamed to path; then the folder is synchronised. On
// any error up to the rename, including an error or a panic of write, the
// temporary file is removed and an existing file at path stays as it was. The
// error wraps its cause and names path.
func Write(path string, perm os.FileMode, write func(w io.Writer) error) error {
	if err := replace(path, perm, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replace(path string, perm os.FileMode, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op after the rename
	defer f.Close()           // likewise after a successful fill
	if err := fill(f, perm, write); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// fill writes, flushes, synchronises and closes f.
func fill(f *os.File, perm os.FileMode, write func(w io.Writer) error) error {
	w := bufio.NewWriterSize(f, bufferSize)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// syncDir makes a rename in dir durable. Some file systems, and Windows, cannot
// synchronise a folder; the file itself is complete all the same, so that is no
// failure.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
