package sets

import (
	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/data/internal/tabular"
)

// tables returns the sets that are tables.
func tables() []Set {
	all := append(uci(), toy1D(), sine())
	for _, t := range tabular.Sets() {
		all = append(all, large(t))
	}
	return all
}

// large makes a set of a table of package tabular.
func large(t tabular.Set) Set {
	return Set{Dataset: t.Dataset, Folder: t.Folder, Splits: 1, table: func(dir string, _ int) (*Parts, error) {
		train, validation, test, err := t.Open(dir)
		if err != nil {
			return nil, err
		}
		return &Parts{Train: train, Validation: validation, Test: test}, nil
	}}
}

// toy1D has all rows for training and for testing.
func toy1D() Set {
	return Set{
		Dataset: fetch.Dataset{
			Name:    "toy1d",
			Title:   "One-dimensional regression (Izmailov, Maddox, Kirichenko, Garipov, Vetrov and Wilson 2019)",
			Source:  "https://github.com/wjmaddox/drbayes",
			Licence: "BSD-2-Clause",
		},
		Splits: 1,
		table: func(string, int) (*Parts, error) {
			s := toy1DPoints()
			return &Parts{Train: s, Test: s}, nil
		},
	}
}

func sine() Set {
	return Set{
		Dataset: fetch.Dataset{
			Name:    "sine",
			Title:   "Synthetic sine (Ortega, Rodríguez-Santana and Hernández-Lobato 2024)",
			Source:  "https://github.com/Ludvins/Variational-LLA",
			Licence: "none needed, the numbers are computed",
		},
		Splits: 1,
		table: func(string, int) (*Parts, error) {
			train, validation, test := sineParts()
			return &Parts{Train: train, Validation: validation, Test: test}, nil
		},
	}
}
