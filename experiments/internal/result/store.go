package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/internal/atomicfile"
)

// Plan lists the cells of an experiment under one profile.
type Plan struct {
	Experiment string   `json:"experiment"`
	Profile    string   `json:"profile"`
	About      string   `json:"about"`
	Commands   []string `json:"commands"` // command lines that run this profile, and the full one
	Data       []string `json:"data"`
	Cells      []ID     `json:"cells"`
}

// Folder is the path of the results of one experiment under one profile.
type Folder string

// Open returns the folder of an experiment and a profile below dir. It makes the folder if
// there is none.
func Open(dir, experiment, profile string) (Folder, error) {
	f := Folder(filepath.Join(dir, experiment, profile))
	for _, sub := range []string{"cells", "work"} {
		if err := os.MkdirAll(filepath.Join(string(f), sub), 0o755); err != nil {
			return "", fmt.Errorf("result: %w", err)
		}
	}
	return f, nil
}

// Work returns the path of a file that is no result, such as a checkpoint or a network.
func (f Folder) Work(name string) string { return filepath.Join(string(f), "work", name) }

// Model is the path of the model file that belongs to a cell.
func (f Folder) Model(id ID) string { return filepath.Join(string(f), "models", id.Name()+".valla") }

func (f Folder) cell(id ID) string { return filepath.Join(string(f), "cells", id.Name()+".json") }

func (f Folder) partial(id ID) string { return f.Work(id.Name() + ".partial.json") }

// Has tells whether a cell is finished.
func (f Folder) Has(id ID) bool { _, err := os.Stat(f.cell(id)); return err == nil }

// Write keeps a finished cell.
func (f Folder) Write(c *Cell) error {
	if err := WriteJSON(f.cell(c.ID), c); err != nil {
		return err
	}
	if err := os.Remove(f.partial(c.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("result: %w", err)
	}
	return nil
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
		return nil, fmt.Errorf("%s: expected the cell %s, found %s", f.cell(id), id.Name(), c.ID.Name())
	}
	return c, nil
}

// Spent returns the cost of the interrupted fit of a cell so far.
func (f Folder) Spent(id ID) (c Cost, err error) {
	err = ReadJSON(f.partial(id), &c)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// Interrupt keeps the cost of an interrupted fit so far.
func (f Folder) Interrupt(id ID, c Cost) error { return WriteJSON(f.partial(id), c) }

const planFile = "plan.json"

// Expect keeps a plan. Cells of an earlier plan that p does not have are added to it, behind
// p's own, so that a run of some rows does not hide the others.
func (f Folder) Expect(p Plan) error {
	old := Plan{}
	err := ReadJSON(filepath.Join(string(f), planFile), &old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, id := range old.Cells {
		if !slices.ContainsFunc(p.Cells, id.Same) {
			p.Cells = append(p.Cells, id)
		}
	}
	for _, d := range old.Data {
		if !slices.Contains(p.Data, d) {
			p.Data = append(p.Data, d)
		}
	}
	return WriteJSON(filepath.Join(string(f), planFile), p)
}

// Found is a plan with its finished cells.
type Found struct {
	Plan
	Done []*Cell // in the order of Cells; nil stands for a missing cell
}

// ReadAll returns all plans below dir with their cells, in the order of their names.
func ReadAll(dir string) ([]Found, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", planFile))
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	var all []Found
	for _, path := range paths {
		f := Found{}
		if err := ReadJSON(path, &f.Plan); err != nil {
			return nil, err
		}
		for _, id := range f.Cells {
			c, err := Folder(filepath.Dir(path)).Read(id)
			if err != nil {
				return nil, err
			}
			f.Done = append(f.Done, c)
		}
		all = append(all, f)
	}
	return all, nil
}

// WriteJSON writes v to a file. After an error the file is what it was before.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("result: %s: %w", path, err)
	}
	err = atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// ReadJSON reads a file of one document without unknown keys into v. Every error is one line
// that names the file. It wraps fs.ErrNotExist if there is no file.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if _, end := d.Token(); err == nil && end != io.EOF {
		err = errors.New("more than one document")
	}
	if err != nil {
		return fmt.Errorf("result: %s: expected a result of this program: %w", path, err)
	}
	return nil
}
