package cifar

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/gunzip"
)

// Archive is the name of the published archive with all batches.
const Archive = "cifar-10-binary.tar.gz"

// readArchive reads all batches from the compressed archive at name. They may be in any order
// and in any folder of the archive.
func (l layout) readArchive(name string) (*image.Splits, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no batches and no %s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string]string{}
	for _, member := range names() {
		all[member] = member
	}
	a := l.assembly(all)
	if err := a.readMembers(f, name); err != nil {
		return nil, err
	}
	return a.splits(l), nil
}

// readMembers fills every part of a and refuses an archive that lacks one.
func (a *assembly) readMembers(r io.Reader, name string) error {
	z, err := gunzip.NewReader(r, ErrFormat)
	if err != nil {
		return unreadable(name, err)
	}
	t := tar.NewReader(z)
	seen := map[string]bool{}
	for {
		member, err := t.Next()
		if err == io.EOF {
			// The checksum follows; reading to the end verifies it.
			if _, err := io.Copy(io.Discard, z); err != nil {
				return unreadable(name, err)
			}
			return complete(name, seen)
		}
		if err != nil {
			return unreadable(name, err)
		}
		base := path.Base(member.Name)
		if part := a.parts[base]; part != nil {
			if err := decode(part, t, name+": "+base); err != nil {
				return err
			}
			seen[base] = true
		}
	}
}

func complete(name string, seen map[string]bool) error {
	var missing []string
	for _, member := range names() {
		if !seen[member] {
			missing = append(missing, member)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %w: expected the batch(es) %s, found none", name, ErrFormat, strings.Join(missing, ", "))
	}
	return nil
}

// unreadable adds the file's name to err, and ErrFormat if the archive is at fault and not the
// disk.
func unreadable(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
