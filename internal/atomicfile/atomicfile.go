// Package atomicfile writes files that are either complete or absent. The content goes to a
// temporary file in the folder of the target. That file replaces the target only once every
// byte is on the disk.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// bufferSize is the size of the write buffer, in bytes. It is there because many callers
// write a few bytes at a time.
const bufferSize = 1 << 20

// Write creates or replaces the file at path. The function write writes the content to w,
// which is buffered. A new file gets the permissions perm without those of the umask, and a file that
// replaces another has its permissions. Where path is a symbolic link to a file, that file is replaced. A path that stands for a folder, a
// device, a pipe or another thing that is no regular file is an error.
//
// The content is written to a temporary file in the same folder, flushed, synchronised to
// disk and renamed to path. Then the folder is synchronised. If an error occurs before or
// at the renaming, or if write panics, the temporary file is removed, and an existing file
// at path stays as it was. The error wraps its cause and names path.
//
// Temporary files of processes that were killed are removed by the next process that writes to
// the same folder.
func Write(path string, perm os.FileMode, write func(w io.Writer) error) error {
	if err := replace(path, perm, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, plain(err))
	}
	return nil
}

// Try returns the error with which Write would fail now, and changes nothing at path. It is
// for the time before long work whose result is to be written.
func Try(path string) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	f, err := temporary(filepath.Dir(path))
	if err != nil {
		return plain(err)
	}
	f.Close() // Windows removes no open file
	return os.Remove(f.Name())
}

// plain leaves the name of a temporary file out of an error.
func plain(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) && strings.HasPrefix(filepath.Base(of.Path), prefix) {
		return of.Err
	}
	return err
}

func replace(path string, perm os.FileMode, write func(w io.Writer) error) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	f, err := temporary(dir)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // has no effect after the renaming
	defer f.Close()           // has no effect after a successful fill
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	} else {
		perm &^= umask
	}
	if err := fill(f, perm, write); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// target returns the path of the file that is to be replaced.
func target(path string) (string, error) {
	if path == "" {
		return "", errors.New("expected the name of a file, found nothing")
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a folder, expected a file")
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("it is a device or a pipe (%v), expected a regular file", info.Mode())
	}
	return path, nil
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
// a folder, and a folder that may be written need not be one that may be read. That is no error, because the file itself is complete
// all the same.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
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
