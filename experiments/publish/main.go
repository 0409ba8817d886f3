// Publish keeps the results of experiments in the repository and writes the page that shows
// them. In the root of the repository,
//
//	go run ./experiments/publish
//
// writes docs/results.md, its figures, and the tables of laws in docs/likelihoods.md from the cells in experiments/results. With --add DIR
// it first takes over the cells below DIR, the folder of valla experiment run --dir.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/experiments/internal/report"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/runner"
)

func main() {
	add := flag.String("add", "", "`folder` of runs whose cells are taken over")
	root := flag.String("root", ".", "`folder` of the repository")
	flag.Parse()
	if err := publish(*root, *add, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

// publish takes over the cells below a folder, "" for none, and writes the page. It writes to warnings what is damaged.
func publish(root, add string, warnings io.Writer) error {
	known, err := runner.Known()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "experiments", "results")
	if add != "" {
		if err := takeOver(dir, add, known, warnings); err != nil {
			return err
		}
	}
	cells, err := read(dir, known)
	if err != nil {
		return err
	}
	r, err := report.New("", known, cells...)
	if err != nil {
		return err
	}
	return r.WriteDocs(filepath.Join(root, "docs"))
}

// takeOver writes the files of all experiments with the cells below a folder, which stand
// instead of those of the same place in the same table, whatever their settings. A cell that was
// refused does not take the place of one with scores. What is damaged is named and left out.
func takeOver(dir, add string, known []report.Known, warnings io.Writer) error {
	cells, err := read(dir, known)
	if err != nil {
		return err
	}
	runs, damaged, err := result.ReadAll(add)
	if err != nil {
		return err
	}
	for _, err := range damaged {
		fmt.Fprintln(warnings, "publish: left out:", err)
	}
	for _, f := range runs {
		for _, c := range f.Done {
			cells = taken(cells, c)
		}
	}
	r, err := report.New("", known, cells...)
	if err != nil {
		return err
	}
	for _, k := range known {
		var text bytes.Buffer
		if err := result.WriteLines(&text, r.Cells(k.Name)); err != nil {
			return err
		}
		if text.Len() == 0 {
			continue
		}
		if err := result.WriteFile(filepath.Join(dir, k.Name+".jsonl"), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the published cells with the cell c of a run, which may be nil.
func taken(cells []*result.Cell, c *result.Cell) []*result.Cell {
	if c == nil || slices.ContainsFunc(cells, func(old *result.Cell) bool { return old.Repeats(c) && lack(old) < lack(c) }) {
		return cells
	}
	return append(slices.DeleteFunc(cells, c.Repeats), c)
}

// lack ranks what a cell lacks: 2 for scores, 1 for hyper-parameters of another method for which the machine had no memory left, 0 for nothing.
func lack(c *result.Cell) int {
	switch {
	case c.Refused != "":
		return 2
	case c.Limit == result.Busy:
		return 1
	}
	return 0
}

// read returns the published cells of all experiments.
func read(dir string, known []report.Known) ([]*result.Cell, error) {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	return result.ReadPublished(os.DirFS(dir), names)
}
