package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// claiming is an archive of one array of float64 that claims n elements and holds the first few,
// deflated.
func claiming(t *testing.T, n int, claim uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "X.npy", Method: zip.Store, CompressedSize64: 128, UncompressedSize64: claim})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(append(header("<f8", tensor.Shape{n}), make([]byte, 128)...)[:128]); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBombs: an archive that claims much more than it can sensibly hold is refused before
// anything is allocated, and so is one whose array is larger than its entry.
func TestBombs(t *testing.T) {
	for _, c := range []struct {
		n     int
		claim uint64
		want  string
		is    error
	}{
		{750_000_000, 6_000_000_128, "that claim to hold arrays of 6000000128 bytes, expected at most 200 times as many", ErrUnsupported},
		{1 << 40, 1 << 63, "more bytes than a file can have", ErrFormat},
		{30_000_000, 128, "expected 240000000 bytes of data, found 0", ErrFormat},
	} {
		text := claiming(t, c.n, c.claim)
		_, err := DecodeArchive(bytes.NewReader(text), int64(len(text)), "bomb.npz")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "bomb.npz: ") || !errors.Is(err, c.is) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestZerosAreNoBomb: an array of zeros that is deflated to a thousandth is no bomb.
func TestZerosAreNoBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("X.npy")
	if err == nil {
		err = Encode(w, tensor.New(tensor.WithShape(1<<20), tensor.Of(tensor.Float64)))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := DecodeArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), "zeros.npz")
	if err != nil || b.Len() > 8<<20/500 || len(a.Names) != 1 {
		t.Errorf("%d bytes, error %v", b.Len(), err)
	}
}

// TestMoreThanFree: an array larger than the memory that is left is refused in bytes.
func TestMoreThanFree(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	if err := fits(200 << 20); err == nil || !strings.Contains(err.Error(), "it needs 209715200 bytes of memory") {
		t.Errorf("error %v", err)
	}
}
