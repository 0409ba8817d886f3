package npy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDecodeErrors(t *testing.T) {
	f8 := dict("'<f8'", "False", "(2,)")
	for name, c := range map[string]struct {
		file []byte
		kind error
		say  string
	}{
		"empty":         {nil, ErrFormat, "expected 8 more bytes, found 0"},
		"magic":         {[]byte("PK\x03\x04 not numpy"), ErrFormat, `starts with "PK\x03\x04 n"`},
		"version":       {file(3, f8), ErrUnsupported, "version 3.0, expected 1 or 2"},
		"short header":  {file(1, f8)[:40], ErrFormat, "ends within the header"},
		"short length":  {file(2, f8)[:10], ErrFormat, "expected 4 more bytes, found 2"},
		"huge header":   {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), ErrFormat, "expected at most 65536"},
		"no newline":    {[]byte("\x93NUMPY\x01\x00\x02\x00{}"), ErrFormat, "header"},
		"no dictionary": {file(1, "hello"), ErrFormat, `header "hello"`},
		"key order":     {file(1, "{'shape': (2,), 'fortran_order': False, 'descr': '<f8', }"), ErrFormat, "header"},
		"fortran":       {file(1, dict("'<f8'", "Maybe", "(2,)")), ErrFormat, "Maybe"},
		"shape":         {file(1, dict("'<f8'", "False", "(a,)")), ErrFormat, "header"},
		"negative":      {file(1, dict("'<f8'", "False", "(2, -1)")), ErrFormat, "negative dimension in shape [2 -1]"},
		"no elements":   {file(1, dict("'<f8'", "False", "(2, 0)")), ErrUnsupported, "shape [2 0] has no elements"},
		"overflow":      {file(1, dict("'<f8'", "False", "(4294967296, 4294967296)")), ErrFormat, "larger than the address space"},
		"big-endian":    {file(1, dict("'>f8'", "False", "(2,)"), make([]byte, 15)...), ErrFormat, "expected 16 bytes of data, found 15 (dtype >f8, shape [2])"},
		"text":          {file(1, dict("'<U2'", "False", "(2,)")), ErrUnsupported, `dtype "<U2", expected one of f8`},
		"large":         {file(1, dict("'<u8'", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0, 128), ErrUnsupported, "element 0 is 9223372036854775808, more than int64 holds"},
		"object":        {file(1, dict("'|O'", "False", "(2,)")), ErrUnsupported, `dtype "|O"`},
		"complex":       {file(1, dict("'<c16'", "False", "(2,)")), ErrUnsupported, `dtype "<c16"`},
		"structure":     {file(1, dict("[('a', '<f8')]", "False", "(2,)")), ErrUnsupported, "dtype"},
		"no data":       {file(1, f8), ErrFormat, "expected 16 bytes of data, found 0 (dtype <f8, shape [2])"},
		"short data":    {file(1, f8, make([]byte, 11)...), ErrFormat, "expected 16 bytes of data, found 11"},
		"long data":     {file(1, f8, make([]byte, 17)...), ErrFormat, "more bytes than an array of shape [2] needs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(bytes.NewReader(c.file), "w.npy")
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v, want %v", err, c.kind)
			}
			if msg := err.Error(); !strings.HasPrefix(msg, "w.npy: ") || !strings.Contains(msg, c.say) || strings.Contains(msg, "\n") {
				t.Errorf("error %q, want one line from w.npy that says %q", msg, c.say)
			}
		})
	}
}

// Failures of the reader itself come through, at every place.
func TestDecodeReaderFails(t *testing.T) {
	whole := file(1, dict("'<f8'", "False", "(2,)"), make([]byte, 16)...)
	broken := errors.New("disk on fire")
	for n := range len(whole) + 1 {
		r := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken))
		if _, err := Decode(r, "x"); !errors.Is(err, broken) {
			t.Fatalf("failure after %d bytes: error %v, want %v", n, err, broken)
		}
	}
}

// A header of 128 bytes that claims 8 TB must not reserve them: neither from a
// stream, nor from a file, nor from an archive.
func TestHugeClaimAllocatesLittle(t *testing.T) {
	liar := file(1, dict("'<f8'", "False", "(1000000, 1000000)"), 1, 2, 3)
	path := filepath.Join(t.TempDir(), "liar.npy")
	if err := os.WriteFile(path, liar, 0o644); err != nil {
		t.Fatal(err)
	}
	archive := zipOf(t, entry{"a.npy", liar})
	for name, read := range map[string]func() error{
		"stream":  func() error { _, err := Decode(bytes.NewReader(liar), "liar"); return err },
		"file":    func() error { _, err := Read(path); return err },
		"archive": func() error { _, err := decodeBytes(archive); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v, want %v", name, err, ErrFormat)
		}
		// one chunk for the buffer, one ahead of the data, and small allocations
		if used := after.TotalAlloc - before.TotalAlloc; used > 4*chunkBytes {
			t.Errorf("%s: allocated %d bytes for %d bytes of input", name, used, len(liar))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(file(1, dict("'<f8'", "False", "(2,)"), make([]byte, 16)...))
	f.Add(file(2, dict("'|u1'", "True", "(2, 3)"), 1, 4, 2, 5, 3, 6))
	f.Add(file(1, dict("'<f2'", "False", "()"), 0, 0x3c))
	f.Add(file(1, dict("'<i4'", "False", "(0, 999999999999)")))
	f.Add(file(1, "{'descr': '<f8'}"))
	f.Add([]byte("\x93NUMPY\x01\x00\x02\x00{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := Decode(bytes.NewReader(in), "fuzz")
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		var buf bytes.Buffer
		if err := Encode(&buf, d); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		first := buf.String()
		again, err := Decode(&buf, "fuzz")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		var second bytes.Buffer
		if err := Encode(&second, again); err != nil || second.String() != first {
			t.Fatalf("round trip changed the array (%v)", err)
		}
	})
}
