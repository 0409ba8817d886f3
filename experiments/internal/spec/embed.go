package spec

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// files holds the experiments that come with the program, each in a file NAME.yaml.
//
//go:embed *.yaml
var files embed.FS

// order lists experiments in the order of the paper. Others follow by name.
var order = []string{"toy", "uci", "year", "airline", "taxi", "airline-nycflights13", "taxi-green", "mnist", "fmnist", "cifar10"}

// Names returns the names of the embedded experiments.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// Text returns the text of an embedded experiment.
func Text(name string) ([]byte, bool) {
	text, err := files.ReadFile(path.Base(name) + ".yaml")
	return text, err == nil && !strings.Contains(name, "/")
}
