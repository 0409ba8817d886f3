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
	if err := publish(*root, *add); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

// publish takes over the cells below a folder, "" for none, and writes the page.
func publish(root, add string) error {
	known, err := runner.Known()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "experiments", "results")
	if add != "" {
		if err := takeOver(dir, add, known); err != nil {
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
// instead of those of the same place in the same table, whatever their settings.
func takeOver(dir, add string, known []report.Known) error {
	cells, err := read(dir, known)
	if err != nil {
		return err
	}
	runs, _, err := result.ReadAll(add) // report.New names what is damaged
	if err != nil {
		return err
	}
	for _, f := range runs {
		cells = slices.DeleteFunc(cells, func(c *result.Cell) bool { return slices.ContainsFunc(f.Done, c.Repeats) })
	}
	r, err := report.New(add, known, cells...)
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

// read returns the published cells of all experiments.
func read(dir string, known []report.Known) ([]*result.Cell, error) {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	return result.ReadPublished(os.DirFS(dir), names)
}
