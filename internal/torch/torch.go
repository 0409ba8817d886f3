// Package torch reads the state dictionaries that PyTorch's save writes (.pt, .pth): zip
// archives of a pickle, which names the tensors, and of their bytes. Nothing in a file is
// executed: a pickle that asks for anything but tensors is refused.
package torch

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/raw"
)

// ErrFormat is wrapped by errors about a file that is damaged or no state dictionary.
var ErrFormat = errors.New("malformed")

// maxPickle bounds the text that describes the tensors.
const maxPickle = 8 << 20

// kinds are the types of data.
var kinds = map[global]raw.Type{
	"torch.DoubleStorage": raw.F64, "torch.FloatStorage": raw.F32, "torch.HalfStorage": raw.F16, "torch.BFloat16Storage": raw.BF16,
	"torch.LongStorage": raw.I64, "torch.IntStorage": raw.I32, "torch.ShortStorage": raw.I16, "torch.CharStorage": raw.I8,
	"torch.ByteStorage": raw.U8, "torch.BoolStorage": raw.Bool,
}

// Read returns the tensors of the state dictionary in the file at path, in its order. The
// dictionary may also be the value of state_dict, model_state_dict or model in a dictionary, as
// in many checkpoints. Half precision becomes float32, integers become int64. Memory is bounded
// by the size of the file.
func Read(path string) (*raw.Arrays, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a, err := decode(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	return a, nil
}

// decode reads a file of size bytes.
func decode(r io.ReaderAt, size int64) (*raw.Arrays, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("no zip archive (%w); files of PyTorch before 1.6 are to be saved anew", err)
	}
	m := &members{size: size, files: map[string]*zip.File{}}
	for _, f := range z.File {
		_, name, _ := strings.Cut(f.Name, "/") // the first folder is the name of the file
		m.files[name] = f
	}
	if order, err := m.read("byteorder", 10); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("byte order %q, expected little", order)
	}
	text, err := m.read("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	root, err := load(text)
	if err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	return m.arrays(root)
}

// members are the members of the zip archive, by their names.
type members struct {
	size  int64                // of the whole archive, in bytes
	files map[string]*zip.File // by their names, without the folder
	name  string               // of the data read last
	data  []byte               // the content of the member called name
}

// read returns a member of at most limit bytes.
func (m *members) read(name string, limit int64) ([]byte, error) {
	f := m.files[name]
	if f == nil {
		return nil, fmt.Errorf("no member %q", name)
	}
	if f.Method != zip.Store || f.UncompressedSize64 > uint64(min(limit, m.size)) {
		return nil, fmt.Errorf("%q: compressed or of %d bytes, expected at most %d and no compression", name, f.UncompressedSize64, min(limit, m.size))
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, m.size))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return b, nil
}

// arrays returns the tensors of a dictionary.
func (m *members) arrays(root any) (*raw.Arrays, error) {
	d, err := stateDict(root)
	if err != nil {
		return nil, err
	}
	a, total := &raw.Arrays{}, int64(0)
	for i, key := range d.keys {
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a tensor with a %T for a name, expected a text", key)
		}
		t, ok := d.values[i].(stored)
		if !ok {
			return nil, fmt.Errorf("%q is a %T, expected a tensor", name, d.values[i])
		}
		v, err := m.tensor(t)
		if err == nil {
			err = a.Add(name, v)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if total += int64(v.Size()); total > m.size {
			return nil, fmt.Errorf("the tensors have more than %d elements, the bytes of the file", m.size)
		}
	}
	return a, nil
}

// stateDict returns the dictionary of tensors that root is or holds.
func stateDict(root any) (*dict, error) {
	d, ok := root.(*dict)
	if !ok {
		return nil, fmt.Errorf("a %T, expected a dictionary of tensors", root)
	}
	for _, name := range []string{"state_dict", "model_state_dict", "model"} {
		if i := slices.Index(d.keys, any(name)); i >= 0 {
			if inner, ok := d.values[i].(*dict); ok {
				return inner, nil
			}
		}
	}
	return d, nil
}

// storage returns the data of a storage, which several tensors may share.
func (m *members) storage(key string) ([]byte, error) {
	if name := "data/" + key; m.name != name {
		data, err := m.read(name, m.size)
		if err != nil {
			return nil, err
		}
		m.name, m.data = name, data
	}
	return m.data, nil
}

// tensor copies a view of a storage.
func (m *members) tensor(t stored) (*tensor.Dense, error) {
	kind := kinds[t.kind]
	data, err := m.storage(t.key)
	if err != nil {
		return nil, err
	}
	elements, width := len(data)/kind.Size(), kind.Size()
	if err := t.check(elements, int(m.size)); err != nil {
		return nil, err
	}
	return raw.Dense(kind, t.shape, raw.Gather(data, t.shape, t.stride, t.offset, width))
}

// check returns an error unless a view has at most most elements and lies within so many elements.
func (t stored) check(elements, most int) error {
	if _, err := raw.Count(t.shape, most); err != nil {
		return err
	}
	if len(t.stride) != len(t.shape) || t.offset < 0 || t.offset >= elements {
		return fmt.Errorf("strides %v and offset %d for shape %v in %d elements", t.stride, t.offset, t.shape, elements)
	}
	last := t.offset
	for d, s := range t.stride {
		if s < 0 || t.shape[d] > 1 && s > elements/(t.shape[d]-1) {
			return fmt.Errorf("strides %v for shape %v in %d elements", t.stride, t.shape, elements)
		}
		last += s * max(t.shape[d]-1, 0)
	}
	if last >= elements {
		return fmt.Errorf("shape %v from element %d on with strides %v in %d elements", t.shape, t.offset, t.stride, elements)
	}
	return nil
}
