package experiments

import (
	"fmt"
	"strings"

	"github.com/go-valla/valla/experiments/spec"
)

// Open reads an experiment under one of its profiles, "" for the first: an embedded one by
// its name, or a file whose name ends in .yaml or .yml.
func Open(name, profile string) (*spec.Experiment, error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		return reader().ReadFile(name, profile)
	}
	text, ok := spec.Text(name)
	if !ok {
		return nil, fmt.Errorf("experiments: %w %q, expected one of %s, or a file NAME.yaml", ErrUnknown, name, strings.Join(spec.Names(), ", "))
	}
	return reader().Read(name+".yaml", text, profile)
}

// List returns the embedded experiments, under their first profiles.
func List() ([]*spec.Experiment, error) {
	var list []*spec.Experiment
	for _, name := range spec.Names() {
		e, err := Open(name, "")
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
