package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/ram"
	"github.com/go-valla/valla/internal/raw"
)

// suffix ends the name of an array's entry in an archive. It is not part of the array's name.
const suffix = ".npy"

// maxDeflate is the largest number of bytes to which one deflated byte can expand
// (https://zlib.net/zlib_tech.html).
const maxDeflate = 1032

// An Archive holds the arrays of a .npz file under their names without ".npy".
type Archive = raw.Arrays

// ReadArchive returns all arrays of the .npz file at path, compressed or not.
func ReadArchive(path string) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return DecodeArchive(f, info.Size(), path)
}

// DecodeArchive returns all arrays of the .npz archive that r holds in size bytes. Errors
// start with name. It refuses an archive with two arrays of the same name or with entries
// that are no arrays.
func DecodeArchive(r io.ReaderAt, size int64, name string) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: no zip archive: %w", name, ErrFormat, err)
	}
	a := &Archive{}
	if err := checkSizes(z.File, size); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range z.File {
		key, ok := strings.CutSuffix(f.Name, suffix)
		if !ok {
			return nil, fmt.Errorf("%s: %w: entry %q, expected a name ending in %s", name, ErrFormat, f.Name, suffix)
		}
		t, err := member(f, size)
		if err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", name, key, err)
		}
		if err := a.Add(key, t); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
		}
	}
	return a, nil
}

// maxRatio is how many times its size an archive may expand to, from maxFree bytes on. Arrays of
// numbers are compressed to a tenth at best; only those that are almost empty go below a
// hundredth, and their archives are small.
const (
	maxRatio = 200
	maxFree  = 256 << 20
)

// checkSizes refuses an archive of size bytes whose entries claim to be larger than it can be, or
// larger than the memory that is left.
func checkSizes(files []*zip.File, size int64) error {
	claimed := uint64(0)
	for _, f := range files {
		if claimed += f.UncompressedSize64; claimed < f.UncompressedSize64 || claimed > math.MaxInt64 {
			return fmt.Errorf("%w: the arrays claim more bytes than a file can have", ErrFormat)
		}
	}
	if claimed > maxFree && claimed/maxRatio > uint64(size) {
		return fmt.Errorf("%w: %d bytes that claim to hold arrays of %d bytes, expected at most %d times as many",
			ErrUnsupported, size, claimed, maxRatio)
	}
	return fits(int64(claimed))
}

// fits returns an error if there is no memory for an array of so many bytes.
func fits(bytes int64) error {
	if left, ok := ram.Fits(bytes); !ok {
		return fmt.Errorf("%w: it needs %d bytes of memory, and %d are free", ErrUnsupported, bytes, left)
	}
	return nil
}

// member reads one array of an archive of size bytes.
func member(f *zip.File, size int64) (*tensor.Dense, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer r.Close()
	// The directory states the size, which is not believed beyond what is possible.
	possible := min(f.UncompressedSize64, uint64(size)*maxDeflate)
	return decodeArray(r, int64(possible))
}

// WriteArchive writes arrays under their names to the .npz file at path and replaces that
// atomically. See [EncodeArchive].
func WriteArchive(path string, names []string, arrays []*tensor.Dense) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		return EncodeArchive(w, names, arrays)
	})
}

// EncodeArchive writes a .npz archive to w, in which arrays[i] has the name names[i]. Like
// NumPy's savez it does not compress. Names must be unique, must not be empty and are given
// without ".npy". The same input gives the same bytes.
func EncodeArchive(w io.Writer, names []string, arrays []*tensor.Dense) error {
	if len(names) != len(arrays) {
		return fmt.Errorf("archive of %d names, expected one for each of %d arrays", len(names), len(arrays))
	}
	seen := make(map[string]bool, len(names))
	z := zip.NewWriter(w)
	for i, name := range names {
		if name == "" || seen[name] {
			return fmt.Errorf("array %d: name %q is empty or taken, expected unique names", i, name)
		}
		seen[name] = true
		e, err := z.CreateHeader(&zip.FileHeader{Name: name + suffix, Method: zip.Store})
		if err != nil {
			return err
		}
		if err := Encode(e, arrays[i]); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return z.Close()
}
