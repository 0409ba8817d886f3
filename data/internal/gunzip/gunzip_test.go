package gunzip

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/internal/fixture"
)

var errFault = errors.New("wrong content")

func read(r io.Reader) ([]byte, error) {
	b, err := NewReader(r, errFault)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(b)
}

// TestRoundTrip: compressed and plain content give the same bytes, also in several members.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := append([]byte("x"), rapid.SliceOf(rapid.Byte()).Draw(rt, "content")...)
		cut := rapid.IntRange(0, len(want)).Draw(rt, "cut")
		members := append(fixture.Gzip(t, want[:cut]), fixture.Gzip(t, want[cut:])...)
		for _, content := range [][]byte{want, fixture.Gzip(t, want), members} {
			if got, err := read(bytes.NewReader(content)); err != nil || !bytes.Equal(got, want) {
				rt.Fatalf("%q (%v), want %q", got, err, want)
			}
		}
	})
}

// TestFaults: damaged data are at fault, wherever they are cut off, and a failing disk is not.
func TestFaults(t *testing.T) {
	whole, disk := fixture.Gzip(t, []byte("some values")), errors.New("disk on fire")
	for n := 2; n < len(whole); n++ {
		if _, err := read(bytes.NewReader(whole[:n])); !errors.Is(err, errFault) || !strings.HasSuffix(err.Error(), "is cut off") {
			t.Errorf("first %d bytes: %v", n, err)
		}
		if _, err := read(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(disk))); !errors.Is(err, disk) || errors.Is(err, errFault) {
			t.Errorf("failure after %d bytes: %v", n, err)
		}
	}
	for _, i := range []int{2, len(whole) - 8} { // the method, and the checksum
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		if _, err := read(bytes.NewReader(changed)); !errors.Is(err, errFault) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
}

// TestFind: the plain file comes before the compressed file.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	_, err := Find(dir, "a")
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "no file "+path+" or "+path+".gz: ") {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{path + ".gz", path} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Find(dir, "a"); got != name || err != nil {
			t.Errorf("%q (%v), want %q", got, err, name)
		}
	}
	if _, err := Find(path, "a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is a file: %v", err)
	}
}
