package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/strictjson"
)

// ErrDamaged is wrapped by errors about a file that is there and holds no result, such as one
// that was cut off.
var ErrDamaged = errors.New("expected a result of this program")

// Plan lists the cells of an experiment under one profile.
type Plan struct {
	Experiment string   `json:"experiment"` // the experiment's name
	Profile    string   `json:"profile"`    // the profile's name
	About      string   `json:"about"`      // what the experiment shows
	Commands   []string `json:"commands"`   // command lines that run this profile, and the full one
	Data       []string `json:"data"`       // data sets, as cells name them
	Cells      []ID     `json:"cells"`      // the cells that there are to be
}

// Folder is the path of the results of one experiment under one profile.
type Folder string

// Plain reports whether a name can be the name of a folder of results.
func Plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Open returns the folder of an experiment and a profile below dir. It makes the folder if
// there is none, and removes the temporary files of killed processes. Names that are no plain
// names of folders are an error.
func Open(dir, experiment, profile string) (Folder, error) {
	for _, name := range []string{experiment, profile} {
		if !Plain(name) {
			return "", fmt.Errorf("result: %.40q is no name of lower-case letters, digits and hyphens", name)
		}
	}
	f := Folder(filepath.Join(dir, experiment, profile))
	for _, sub := range []string{"cells", "work"} {
		if err := os.MkdirAll(filepath.Join(string(f), sub), 0o755); err != nil {
			return "", fmt.Errorf("result: %w", err)
		}
	}
	for _, sub := range []string{"", "cells", "work", "models"} {
		atomicfile.Sweep(filepath.Join(string(f), sub))
	}
	return f, nil
}

// Work returns the path of a file that is no result, such as a checkpoint or a network.
func (f Folder) Work(name string) string { return filepath.Join(string(f), "work", name) }

// Model is the path of the model file that belongs to a cell.
func (f Folder) Model(id ID) string { return filepath.Join(string(f), "models", id.Name()+".valla") }

func (f Folder) cell(id ID) string { return filepath.Join(string(f), "cells", id.Name()+".json") }

// Predicted is the folder with the predictions of an unfinished cell.
func (f Folder) Predicted(id ID) string { return f.Work(id.Name() + ".predicted") }

// Spent is the file of the cost so far of a cell whose fit was interrupted, see [ReadCost].
func (f Folder) Spent(id ID) string { return f.Work(id.Name() + ".partial.json") }

// Has reports whether a cell is finished.
func (f Folder) Has(id ID) bool { _, err := os.Stat(f.cell(id)); return err == nil }

// Write keeps a finished cell.
func (f Folder) Write(c *Cell) error {
	if err := WriteJSON(f.cell(c.ID), c); err != nil {
		return err
	}
	return f.Tidy(c.ID)
}

// Read returns a finished cell. It returns nil and no error if the cell is not finished.
func (f Folder) Read(id ID) (*Cell, error) {
	c := &Cell{}
	if err := ReadJSON(f.cell(id), c); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if c.ID != id {
		return nil, fmt.Errorf("result: %s: %w: expected the cell %s, found %s", f.cell(id), ErrDamaged, id.Name(), c.ID.Name())
	}
	return c, nil
}

// Tidy removes what the fit and the predictions of a finished cell have left in the work folder, and other files.
func (f Folder) Tidy(id ID, files ...string) error {
	if err := os.RemoveAll(f.Predicted(id)); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return Remove(append(files, f.Spent(id))...)
}

// Remove removes files, of which some may be absent.
func Remove(paths ...string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

// ReadCost returns the cost in a file, 0 if there is none.
func ReadCost(path string) (Cost, error) {
	var c Cost
	err := ReadJSON(path, &c)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// Interrupt keeps the cost of an interrupted fit so far.
func (f Folder) Interrupt(id ID, c Cost) error { return WriteJSON(f.Spent(id), c) }

const planFile = "plan.json"

// HasPlan reports whether a plan was kept.
func (f Folder) HasPlan() bool {
	_, err := os.Stat(filepath.Join(string(f), planFile))
	return err == nil
}

// Expect keeps a plan. Cells of an earlier plan that p does not have are added to it, behind
// p's own, so that a run of some rows does not hide the others. A damaged plan is replaced; the
// cells that it listed are there still, and a run of their rows lists them again.
func (f Folder) Expect(p Plan) error {
	old := Plan{}
	err := ReadJSON(filepath.Join(string(f), planFile), &old)
	if errors.Is(err, ErrDamaged) {
		old, err = Plan{}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, id := range old.Cells {
		if !slices.ContainsFunc(p.Cells, id.Same) {
			p.Cells = append(p.Cells, id)
		}
	}
	p.Data = Union(p.Data, old.Data...)
	return WriteJSON(filepath.Join(string(f), planFile), p)
}

// Found is a plan with its finished cells.
type Found struct {
	Plan
	Done []*Cell // in the order of Cells; nil stands for a missing cell
}

// ReadAll returns all plans below dir with their cells, in the order of their names. A damaged
// plan is left out, and a damaged cell counts as missing; damaged holds an error for each of
// them. It is an error if there is no such folder.
func ReadAll(dir string) (all []Found, damaged []error, err error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, nil, fmt.Errorf("result: %w", err)
	}
	paths, err := fs.Glob(os.DirFS(dir), "*/*/"+planFile)
	if err != nil {
		return nil, nil, fmt.Errorf("result: %w", err)
	}
	sound := func(err error) bool {
		if errors.Is(err, ErrDamaged) {
			damaged = append(damaged, err)
		}
		return err == nil
	}
	for _, name := range paths {
		f, path := Found{}, filepath.Join(dir, filepath.FromSlash(name))
		if err := ReadJSON(path, &f.Plan); !sound(err) {
			if !errors.Is(err, ErrDamaged) {
				return nil, nil, err
			}
			continue
		}
		for _, id := range f.Cells {
			c, err := Folder(filepath.Dir(path)).Read(id)
			if !sound(err) && !errors.Is(err, ErrDamaged) {
				return nil, nil, err
			}
			f.Done = append(f.Done, c)
		}
		all = append(all, f)
	}
	return all, damaged, nil
}

// WriteJSON writes v to the file at path. After an error the file is as it was before.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("result: %s: %w", path, err)
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile writes content to the file at path. After an error the file is as it was before.
func WriteFile(path string, content []byte) error {
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := w.Write(content); return err })
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// maxSize bounds a file in bytes. The cells of the largest experiments have some 100 kB.
const maxSize = 64 << 20

// ReadJSON reads a file of one document without unknown keys into v. Every error is one line
// that names the file. It wraps fs.ErrNotExist if there is no file, and ErrDamaged if the file
// holds something else.
func ReadJSON(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if len(text) > maxSize {
		return fmt.Errorf("result: %s: %w: more than %d bytes", path, ErrDamaged, maxSize)
	}
	if err := strictjson.Decode(text, v); err != nil {
		return fmt.Errorf("result: %s: %w: %w", path, ErrDamaged, err)
	}
	return nil
}
