package idx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-valla/valla/internal/fixture"
)

// file returns IDX data of the given dimensions, whatever the values are.
func file(values []byte, dims ...uint32) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, values...)
}

// put writes a file called name in a folder of its own.
func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Content decides, not the name: each form is read under both names.
func TestReadPlainAndCompressed(t *testing.T) {
	images := file([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)
	labels := file([]byte{7, 0, 255}, 3)
	for _, name := range []string{"a", "a.gz"} {
		for form, convert := range map[string]func([]byte) []byte{
			"plain": func(b []byte) []byte { return b },
			"gzip":  func(b []byte) []byte { return fixture.Gzip(t, b) },
			"gzip in two members": func(b []byte) []byte {
				return append(fixture.Gzip(t, b[:9]), fixture.Gzip(t, b[9:])...)
			},
		} {
			im, err := readFile(put(t, name, convert(images)), DecodeImages)
			if err != nil {
				t.Fatalf("%s called %s: %v", form, name, err)
			}
			if im.N != 2 || im.H != 3 || im.W != 2 || !bytes.Equal(im.Pixels, images[16:]) {
				t.Errorf("%s called %s: images %+v", form, name, im)
			}
			l, err := readFile(put(t, name, convert(labels)), decodeLabels)
			if err != nil || !slices.Equal(l, []uint8{7, 0, 255}) {
				t.Errorf("%s called %s: labels %v (%v)", form, name, l, err)
			}
		}
	}
}

// The buffer grows several times on the way to 5 MB.
func TestReadLong(t *testing.T) {
	values := make([]byte, 5<<20+3)
	for i := range values {
		values[i] = byte(i ^ i>>8 ^ i>>16)
	}
	got, err := decodeLabels(bytes.NewReader(file(values, uint32(len(values)))), "x")
	if err != nil || !bytes.Equal(got, values) {
		t.Errorf("%d labels (%v), want %d", len(got), err, len(values))
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		say  string
	}{
		"empty":         {nil, "byte 0: expected 4 bytes of the magic number, found the end after 0"},
		"short magic":   {[]byte{0, 0, 8}, "byte 3: expected 4 bytes of the magic number, found the end after 3"},
		"magic":         {[]byte("PK\x03\x04 zip"), "byte 0: expected the magic number 00 00 08 03, found 50 4b 03 04"},
		"little-endian": {[]byte{3, 8, 0, 0, 1, 0, 0, 0}, "found 03 08 00 00"},
		"type":          {append([]byte{0, 0, 0x0d, 3}, make([]byte, 12)...), "byte 2: expected the type 0x08 (unsigned bytes), found 0x0d"},
		"labels":        {file([]byte{1, 2}, 2), "byte 3: expected 3 dimension(s), found 1"},
		"four":          {file([]byte{1}, 1, 1, 1, 1), "byte 3: expected 3 dimension(s), found 4"},
		"no last size":  {append([]byte{0, 0, 8, 3}, make([]byte, 3)...), "byte 7: expected 4 bytes of dimension 0, found the end after 3"},
		"zero":          {file(nil, 2, 0, 3), "byte 8: expected a dimension of 1 to 2147483647, found 0"},
		"large":         {file(nil, 2, 2, 1<<31), "byte 12: expected a dimension of 1 to 2147483647, found 2147483648"},
		"overflow":      {file(nil, 1<<31-1, 1<<31-1, 1<<31-1), "byte 4: expected at most"},
		"no values":     {file(nil, 2, 3, 4), "byte 16: expected 24 bytes of values of shape [2 3 4], found the end after 0"},
		"truncated":     {file(make([]byte, 23), 2, 3, 4), "byte 39: expected 24 bytes of values of shape [2 3 4], found the end after 23"},
		"trailing":      {file(append(make([]byte, 24), 0x2a), 2, 3, 4), "byte 40: expected the end, found more bytes, the first 0x2a"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, content := range [][]byte{c.file, fixture.Gzip(t, c.file)} {
				im, err := DecodeImages(bytes.NewReader(content), "w")
				if !errors.Is(err, ErrFormat) || im != nil {
					t.Fatalf("images %v, error %v, want %v", im, err, ErrFormat)
				}
				fixture.OneLineFrom(t, err, "w: ", c.say)
			}
		})
	}
}

// Compressed data that is cut anywhere, or of which any byte is changed, is an
// ErrFormat with nothing returned, or decompresses to the same: a few bytes of
// the gzip header carry no data.
func TestBrokenCompression(t *testing.T) {
	values := []byte("the values do not matter, only that there are some of them")
	whole := fixture.Gzip(t, file(values, uint32(len(values))))
	for n := 2; n < len(whole); n++ {
		l, err := decodeLabels(bytes.NewReader(whole[:n]), "w")
		if !errors.Is(err, ErrFormat) || l != nil {
			t.Fatalf("first %d bytes of %d: labels %v, error %v", n, len(whole), l, err)
		}
		fixture.OneLineFrom(t, err, "w: ", "the compressed data is cut off")
	}
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 0x10
		l, err := decodeLabels(bytes.NewReader(changed), "w")
		if err == nil && (i >= 10 || !bytes.Equal(l, values)) { // the gzip header has 10 bytes
			t.Errorf("byte %d changed: no error, labels %q", i, l)
		}
		if err != nil && (!errors.Is(err, ErrFormat) || l != nil) {
			t.Errorf("byte %d changed: labels %v, error %v, want %v", i, l, err, ErrFormat)
		}
	}
	_, err := decodeLabels(bytes.NewReader(append(slices.Clone(whole), "more"...)), "w")
	if !errors.Is(err, ErrFormat) {
		t.Errorf("bytes after the compressed data: error %v, want %v", err, ErrFormat)
	}
}

// Failures of the reader itself come through, at every place.
func TestReaderFails(t *testing.T) {
	plain := file([]byte{1, 2}, 2)
	broken := errors.New("disk on fire")
	for _, whole := range [][]byte{plain, fixture.Gzip(t, plain)} {
		for n := range len(whole) + 1 {
			r := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken))
			if l, err := decodeLabels(r, "x"); !errors.Is(err, broken) || l != nil {
				t.Fatalf("failure after %d bytes: labels %v, error %v, want %v", n, l, err, broken)
			}
		}
	}
}

// A header that claims 2^31 bytes must not reserve them.
func TestHugeClaimAllocatesLittle(t *testing.T) {
	liar := file([]byte{1, 2, 3}, 1<<15, 1<<8, 1<<8)
	for _, content := range [][]byte{liar, fixture.Gzip(t, liar)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeImages(bytes.NewReader(content), "liar")
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("error %v, want %v", err, ErrFormat)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4*chunk {
			t.Errorf("allocated %d bytes for %d bytes of input", used, len(content))
		}
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent")
	if _, err := readFile(path, DecodeImages); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want a missing file and %s", err, path)
	}
	if _, err := readFile(t.TempDir(), decodeLabels); err == nil {
		t.Error("a folder was read as labels")
	}
}

func FuzzDecode(f *testing.F) {
	images := file([]byte{1, 2, 3, 4, 5, 6}, 1, 2, 3)
	for _, seed := range [][]byte{
		images, fixture.Gzip(f, images), file([]byte{3, 1}, 2), fixture.Gzip(f, images)[:20],
		file(nil, 1<<31-1, 1<<31-1, 1<<31-1), file(nil, 0), {0x1f, 0x8b}, nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		im, err := DecodeImages(bytes.NewReader(in), "fuzz")
		if (err == nil) != (im != nil) || (err != nil && !errors.Is(err, ErrFormat)) {
			t.Fatalf("images %v, error %v", im, err)
		}
		if im == nil {
			return
		}
		if im.N < 1 || im.H < 1 || im.W < 1 || len(im.Pixels) != im.N*im.H*im.W {
			t.Fatalf("%d pixels in images of %d×%d×%d", len(im.Pixels), im.N, im.H, im.W)
		}
		same := file(im.Pixels, uint32(im.N), uint32(im.H), uint32(im.W))
		if !bytes.HasPrefix(in, []byte{0x1f, 0x8b}) && !bytes.Equal(in, same) {
			t.Fatal("two files mean the same images")
		}
		if l, err := decodeLabels(bytes.NewReader(in), "fuzz"); err == nil {
			t.Fatalf("images were read as %d labels", len(l))
		}
	})
}
