package runner

import (
	"fmt"

	"github.com/go-valla/valla/experiments/internal/report"
	"github.com/go-valla/valla/experiments/internal/spec"
)

// Known returns the embedded experiments, with the rows of their first profiles.
func Known() (list []report.Known, err error) {
	for _, name := range spec.Names() {
		text, _ := spec.Text(name)
		e, err := spec.Read(name+".yaml", text, "")
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		k := report.Known{Name: e.Name, About: e.About}
		for _, row := range e.Methods {
			variants, err := row.Variants()
			if err != nil {
				return nil, fmt.Errorf("experiment: %w", err)
			}
			for _, v := range variants {
				k.Rows = append(k.Rows, v.Label)
			}
		}
		list = append(list, k)
	}
	return list, nil
}
