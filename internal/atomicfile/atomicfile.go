// Package atomicfile writes files that are either complete or absent. The content goes to a
// temporary file in the folder of the target. That file replaces the target only once every
// byte is on the disk.
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

// bufferSize is the size of the write buffer, in bytes. It is there because many callers
// write a few bytes at a time.
const bufferSize = 1 << 20

// Write creates or replaces the file at path. The function write writes the content to w,
// which is buffered. The file gets exactly the permissions perm, whatever the umask.
//
// The content is written to a temporary file in the same folder, flushed, synchronised to
// disk and renamed to path. Then the folder is synchronised. If an error occurs before or
// at the renaming, or if write panics, the temporary file is removed, and an existing file
// at path stays as it was. The error wraps its cause and names path.
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
	defer os.Remove(f.Name()) // has no effect after the renaming
	defer f.Close()           // has no effect after a successful fill
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

// syncDir makes a renaming in dir durable. Windows and some file systems cannot synchronise
// a folder. That is no error, because the file itself is complete all the same.
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
