package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/internal/safetensors"
	"github.com/go-valla/valla/internal/torch"
)

// weightFile is the content of an archive or a folder of arrays.
type weightFile struct {
	path   string                   // of the file or the folder
	folder bool                     // of .npy files
	torch  bool                     // of PyTorch, or safetensors
	sorted bool                     // the names are sorted, so that their order is not the order of the layers
	names  []string                 // in the order of the file
	arrays map[string]*tensor.Dense // by their names
}

// at names the place of an array in messages.
func (f *weightFile) at(name string) string {
	if f.folder {
		return fmt.Sprintf("%s: array %q", arrayPath(f.path, name), name)
	}
	return fmt.Sprintf("%s: array %q", f.path, name)
}

func arrayPath(folder, name string) string { return filepath.Join(folder, name+".npy") }

func readWeights(path string) (*weightFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readFolder(path)
	}
	a, err := readArrays(path)
	if err != nil {
		return nil, err
	}
	// Most programs sort the arrays of safetensors by name. Save does not write safetensors: whose names they have, the axes are PyTorch's.
	f := &weightFile{path: path, torch: isTorch(path) || isSafetensors(path), sorted: isSafetensors(path), names: a.Names, arrays: map[string]*tensor.Dense{}}
	for _, name := range a.Names {
		f.arrays[name], _ = a.Get(name)
	}
	return f, nil
}

func isSafetensors(path string) bool { return strings.EqualFold(filepath.Ext(path), ".safetensors") }

func isTorch(path string) bool {
	return slices.Contains([]string{".pt", ".pth"}, strings.ToLower(filepath.Ext(path)))
}

// readArrays reads a file in the format that its name says.
func readArrays(path string) (*raw.Arrays, error) {
	switch {
	case isSafetensors(path):
		return safetensors.Read(path)
	case isTorch(path):
		return torch.Read(path)
	}
	return npy.ReadArchive(path)
}

func readFolder(path string) (*weightFile, error) {
	names, err := arraysIn(path)
	if err != nil {
		return nil, err
	}
	f := &weightFile{path: path, folder: true, sorted: true, names: names, arrays: map[string]*tensor.Dense{}}
	for _, name := range names {
		if f.arrays[name], err = npy.Read(arrayPath(path, name)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// arraysIn lists the arrays of a folder in alphabetical order. It ignores hidden files and
// files of other kinds.
func arraysIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".npy")
		if ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

func writeWeights(path string, params []*graph.Param) error {
	names := make([]string, len(params))
	arrays := make([]*tensor.Dense, len(params))
	for i, p := range params {
		names[i], arrays[i] = p.Name, p.Value
	}
	if filepath.Ext(path) == ".npz" {
		return npy.WriteArchive(path, names, arrays)
	}
	if err := prepareFolder(path, names); err != nil {
		return err
	}
	for i, name := range names {
		if err := npy.Write(arrayPath(path, name), arrays[i]); err != nil {
			return err
		}
	}
	return nil
}

// prepareFolder makes sure, before anything is written, that arrays of these
// names will be all that the folder holds.
func prepareFolder(path string, names []string) error {
	mine := map[string]bool{}
	for _, name := range names {
		if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) {
			return fmt.Errorf("parameter %q: the name cannot be a file name; save to an .npz archive", name)
		}
		mine[name] = true
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	found, err := arraysIn(path)
	if err != nil {
		return err
	}
	for _, name := range found {
		if !mine[name] {
			return fmt.Errorf("%s: the folder holds an array %q that the network has not", path, name)
		}
	}
	return nil
}
