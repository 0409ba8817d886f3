package safetensors

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file puts a header before some bytes of data.
func file(header string, data ...byte) []byte {
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data)
}

const two = `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  `

func TestDecode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err := os.WriteFile(path, file(two, 0, 0, 0x80, 0x3f, 0xc0, 0x3f, 0, 0xc0), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	scalar, _ := a.Get("a")
	vector, _ := a.Get("b")
	if !slices.Equal(a.Names, []string{"b", "a"}) || !slices.Equal(vector.Float32s(), []float32{1.5, -2}) || scalar.Data() != float32(1) {
		t.Errorf("%q: %v %v", a.Names, vector, scalar)
	}
}

func TestRefused(t *testing.T) {
	array := func(fields string) []byte { return file(`{"a":{`+fields+`}}`, make([]byte, 8)...) }
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":          {nil, "0 bytes"},
		"huge header":    {binary.LittleEndian.AppendUint64(nil, 1<<40), "a header of"},
		"not JSON":       {file("[]"), "no JSON object"},
		"cut":            {file(`{"a":`), "EOF"},
		"text after":     {file(`{} x`), "follow the JSON"},
		"twice":          {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 1, 2), `two arrays are called "a"`},
		"past the end":   {array(`"dtype":"F32","shape":[3],"data_offsets":[0,12]`), "bytes 0 to 12 of 8"},
		"negative":       {array(`"dtype":"F32","shape":[2],"data_offsets":[-8,0]`), "bytes -8 to 0"},
		"hole":           {array(`"dtype":"F32","shape":[1],"data_offsets":[4,8]`), "expected from 0 on"},
		"rest":           {array(`"dtype":"F32","shape":[1],"data_offsets":[0,4]`), "end at byte 4 of 8"},
		"no offsets":     {array(`"dtype":"F32","shape":[2]`), "bytes -1"},
		"wrong size":     {array(`"dtype":"F32","shape":[3],"data_offsets":[0,8]`), "8 bytes for shape [3]"},
		"overflow":       {array(`"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,8]`), "shape"},
		"negative shape": {array(`"dtype":"F32","shape":[-2,-1],"data_offsets":[0,8]`), "shape"},
		"no elements":    {file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`), "shape [0]"},
		"unknown type":   {array(`"dtype":"F8","shape":[8],"data_offsets":[0,8]`), "F8"},
		"unknown field":  {array(`"type":"F32"`), "unknown field"},
		"metadata":       {file(`{"__metadata__":{"a":[1]}}`), "metadata"},
		"deep":           {file(strings.Repeat(`{"a":`, 200_000)), "array"},
	} {
		a, err := decode(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, error %v, want %q", name, a, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(file(two, 0, 0, 0x80, 0x3f, 0xc0, 0x3f, 0, 0xc0))
	f.Add(file(`{"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}}`, make([]byte, 8)...))
	f.Add(file("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decode(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		total := 0
		for _, name := range a.Names {
			v, _ := a.Get(name)
			total += v.Size()
		}
		if total > len(data) {
			t.Errorf("%d elements from %d bytes", total, len(data))
		}
	})
}
