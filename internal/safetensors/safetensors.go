// Package safetensors reads files of named arrays in the format safetensors
// (https://github.com/huggingface/safetensors): the length of a header, the header in JSON, and
// the bytes of all arrays.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-valla/valla/internal/raw"
)

// ErrFormat is wrapped by errors about a file that is damaged or of another kind.
var ErrFormat = errors.New("malformed")

// maxHeader is the largest header that the format allows.
const maxHeader = 100_000_000

// Read returns all arrays of the file at path, in the order of the header. F16 and BF16 become
// float32, integers become int64. Memory is bounded by the size of the file.
func Read(path string) (*raw.Arrays, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	return a, nil
}

// entry describes an array in the header.
type entry struct {
	Dtype   raw.Type `json:"dtype"`        // type of the elements
	Shape   []int    `json:"shape"`        // lengths of the axes
	Offsets [2]int   `json:"data_offsets"` // first byte in the data, and the byte after the last
	name    string   // of the array
}

func decode(file []byte) (*raw.Arrays, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("%d bytes, expected at least 8", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", n, len(file))
	}
	entries, err := header(file[8 : 8+n])
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	data := file[8+n:]
	if err := tiled(entries, len(data)); err != nil {
		return nil, err
	}
	a := &raw.Arrays{}
	for _, e := range entries {
		v, err := raw.Dense(e.Dtype, e.Shape, data[e.Offsets[0]:e.Offsets[1]])
		if err == nil {
			err = a.Add(e.name, v)
		}
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", e.name, err)
		}
	}
	return a, nil
}

// header reads the entries one by one, because a map would hide that a name occurs twice.
func header(text []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no JSON object")
	}
	var entries []entry
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string) // as every key of an object
		if name == "__metadata__" {
			if err := d.Decode(new(map[string]string)); err != nil {
				return nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		e := entry{name: name, Offsets: [2]int{-1, -1}}
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if rest := text[d.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%d bytes follow the JSON object", len(rest))
	}
	return entries, nil
}

// tiled returns an error unless the arrays fill n bytes without gaps and overlaps.
func tiled(entries []entry, n int) error {
	sorted := slices.SortedStableFunc(slices.Values(entries), func(a, b entry) int { return a.Offsets[0] - b.Offsets[0] })
	at := 0
	for _, e := range sorted {
		if e.Offsets[0] != at || e.Offsets[1] < at || e.Offsets[1] > n {
			return fmt.Errorf("array %q: bytes %d to %d of %d, expected from %d on", e.name, e.Offsets[0], e.Offsets[1], n, at)
		}
		at = e.Offsets[1]
	}
	if at != n {
		return fmt.Errorf("the arrays end at byte %d of %d", at, n)
	}
	return nil
}
