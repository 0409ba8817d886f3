package onnxfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-valla/valla/internal/atomicfile"
)

const (
	// MaxFile is the largest number of bytes of arrays that stay inside a model: a protocol buffer has less than 2 GiB.
	MaxFile = 2<<30 - 64<<20
	// small is the number of bytes of an array that always stays inside.
	small = 1024
)

// Write writes the model to the file at path. If the arrays have more than most bytes, those that are not small go to a file
// beside, with the ending .data; 0 means MaxFile. Write returns the paths of the files, and the number of their bytes.
func (m *Model) Write(path string, most int) (files []string, size int, err error) {
	if most == 0 {
		most = MaxFile
	}
	sum := 0
	for _, a := range m.Arrays {
		sum += len(a.Data)
	}
	beside, outside := path+".data", map[string]int{}
	if sum > most {
		if sum, err = m.writeBeside(beside, outside); err != nil {
			return nil, 0, err
		}
		files, size = append(files, beside), sum
	}
	data, err := m.encode(filepath.Base(beside), outside)
	if err != nil {
		return nil, 0, err
	}
	err = atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil && len(files) > 0 {
		os.Remove(beside)
	}
	return append([]string{path}, files...), size + len(data), err
}

// writeBeside writes the arrays that are not small to the file at path, each at a multiple of 64 bytes, and fills outside with
// the places.
func (m *Model) writeBeside(path string, outside map[string]int) (size int, err error) {
	err = atomicfile.Write(path, 0o644, func(w io.Writer) error {
		for _, a := range m.Arrays {
			if len(a.Data) <= small {
				continue
			}
			gap := (64 - size%64) % 64
			if _, err := w.Write(make([]byte, gap)); err != nil {
				return err
			}
			if _, err := w.Write(a.Data); err != nil {
				return err
			}
			outside[a.Name] = size + gap
			size += gap + len(a.Data)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("the arrays of the model: %w", err)
	}
	return size, nil
}
