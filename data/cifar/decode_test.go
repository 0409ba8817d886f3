package cifar

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-valla/valla/internal/fixture"
)

// batch returns n records: image i, counted from first, has the label i mod 10
// and pixels that depend on i and their place.
func batch(first, n int) []byte {
	var out []byte
	for i := first; i < first+n; i++ {
		out = append(out, byte(i%classes))
		for p := range size {
			out = append(out, byte(i*31+p+p>>8))
		}
	}
	return out
}

func TestDecode(t *testing.T) {
	content := batch(7, 5)
	for form, c := range map[string][]byte{
		"plain":               content,
		"gzip":                fixture.Gzip(t, content),
		"gzip in two members": append(fixture.Gzip(t, content[:4000]), fixture.Gzip(t, content[4000:])...),
	} {
		s, err := Decode(bytes.NewReader(c), "x", 5)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if s.N != 5 || s.C != 3 || s.H != 32 || s.W != 32 || s.Classes != 10 || len(s.Names) != 10 {
			t.Errorf("%s: %d images of %d×%d×%d, %d classes called %q", form, s.N, s.C, s.H, s.W, s.Classes, s.Names)
		}
		if !slices.Equal(s.Class(), []int{7, 8, 9, 0, 1}) {
			t.Errorf("%s: labels %v", form, s.Class())
		}
		for i := range s.N {
			if !bytes.Equal(s.Pixels[i*size:(i+1)*size], content[i*(size+1)+1:(i+1)*(size+1)]) {
				t.Errorf("%s: image %d has other pixels", form, i)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	good := batch(0, 3)
	high := slices.Clone(good)
	high[2*(size+1)] = 10
	for name, c := range map[string]struct {
		file []byte
		say  string
	}{
		"empty":     {nil, "record 0: expected 3073 bytes, found the end after 0"},
		"one byte":  {[]byte{1}, "record 0: expected 3073 bytes, found the end after 1"},
		"truncated": {good[:len(good)-1], "record 2: expected 3073 bytes, found the end after 3072"},
		"short":     {batch(0, 2), "record 2: expected 3073 bytes, found the end after 0"},
		"long":      {append(slices.Clone(good), 0x2a), "record 3: expected the end, found more bytes, the first 0x2a"},
		"label":     {high, "record 2: expected a label of 0 to 9, found 10"},
		"page":      {[]byte("<html>log in first"), "record 0: expected a label of 0 to 9, found 60"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, content := range [][]byte{c.file, fixture.Gzip(t, c.file)} {
				s, err := Decode(bytes.NewReader(content), "w", 3)
				if !errors.Is(err, ErrFormat) || s != nil {
					t.Fatalf("set %v, error %v, want %v", s, err, ErrFormat)
				}
				fixture.OneLineFrom(t, err, "w: ", c.say)
			}
		})
	}
	for name, garbage := range map[string][]byte{
		"header only": {0x1f, 0x8b},
		"no header":   append([]byte{0x1f, 0x8b}, "not compressed at all"...),
		"no data":     append(slices.Clone(fixture.Gzip(t, nil)[:10]), "not compressed at all"...),
	} {
		s, err := Decode(bytes.NewReader(garbage), "w", 3)
		if !errors.Is(err, ErrFormat) || s != nil {
			t.Errorf("%s: set %v, error %v, want %v", name, s, err, ErrFormat)
		}
		fixture.OneLineFrom(t, err, "w: ", "record 0: ")
	}
}

// Compressed data that is cut, or of which a byte is changed, is an ErrFormat
// with nothing returned, or decompresses to the same: a few bytes of the gzip
// header carry no data.
func TestBrokenCompression(t *testing.T) {
	content := batch(0, 1)
	whole := fixture.Gzip(t, content)
	for n := 2; n < len(whole); n++ {
		if s, err := Decode(bytes.NewReader(whole[:n]), "w", 1); !errors.Is(err, ErrFormat) || s != nil {
			t.Fatalf("first %d bytes of %d: set %v, error %v", n, len(whole), s, err)
		}
	}
	for i := 2; i < len(whole); i++ { // without the first two it is not compressed
		changed := slices.Clone(whole)
		changed[i] ^= 0x10
		s, err := Decode(bytes.NewReader(changed), "w", 1)
		if err == nil && (i >= 10 || !bytes.Equal(s.Pixels, content[1:])) {
			t.Errorf("byte %d changed: no error", i)
		}
		if err != nil && (!errors.Is(err, ErrFormat) || s != nil) {
			t.Errorf("byte %d changed: set %v, error %v", i, s, err)
		}
	}
}

// Failures of the reader itself come through and are not the content's fault.
func TestReaderFails(t *testing.T) {
	content := batch(0, 1)
	disk := errors.New("disk on fire")
	for _, whole := range [][]byte{content, fixture.Gzip(t, content)} {
		for n := 0; n <= len(whole); n += 1 + len(whole)/50 {
			r := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(disk))
			if s, err := Decode(r, "x", 1); !errors.Is(err, disk) || errors.Is(err, ErrFormat) || s != nil {
				t.Fatalf("failure after %d bytes: set %v, error %v, want %v", n, s, err, disk)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	two := batch(0, 2)
	for _, seed := range [][]byte{two, fixture.Gzip(f, two), two[:4000], fixture.Gzip(f, two)[:20], {0x1f, 0x8b}, {11}, nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := Decode(bytes.NewReader(in), "fuzz", 2)
		if (err == nil) != (s != nil) || (err != nil && !errors.Is(err, ErrFormat)) {
			t.Fatalf("set %v, error %v", s, err)
		}
		if s == nil {
			if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Fatalf("error %q", err)
			}
			return
		}
		var same []byte
		for i, label := range s.Labels {
			same = append(append(same, label), s.Pixels[i*size:(i+1)*size]...)
		}
		if max(s.Labels[0], s.Labels[1]) >= classes || (in[0] != 0x1f && !bytes.Equal(in, same)) {
			t.Fatalf("labels %v, %d bytes", s.Labels, len(same))
		}
	})
}
