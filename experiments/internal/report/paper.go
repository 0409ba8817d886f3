package report

import (
	"fmt"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
)

// paperRow returns the name that the published tables have for the row of a cell, by its method
// and settings, and how far the settings are from the published ones: 0 for the same
// algorithm, 1 for another that is to give the same posterior. The name is "" where the tables
// have no such row. A cell whose settings are unknown has the name of its row.
func paperRow(c *result.Cell) (name string, far int) {
	s, ok := c.Setup()
	if !ok {
		return c.Row, 0
	}
	has := func(setting string, value any) bool { return fmt.Sprint(s.Settings[setting]) == fmt.Sprint(value) }
	if s.Settings["law"] != nil || s.Settings["likelihood"] != nil { // the published rows have the Gaussian
		return "", 0
	}
	switch s.Method {
	case "map":
		return "MAP", 0
	case "lla":
		return llaRow(fmt.Sprint(s.Settings["structure"]), fmt.Sprint(s.Settings["weights"])), 0
	case "valla":
		return fmt.Sprintf("VaLLA %v", s.Settings["inducing"]), oneIf(!has("optimizer", "adam"))
	case "sampled-lla":
		return "Sampled LLA", oneIf(!has("solver", "sgd"))
	case "mfvi":
		return "MF-VI", oneIf(has("estimator", "none"))
	case "fmgp":
		_, set := s.Settings["length-scale"]
		return fmt.Sprintf("FMGP %v", s.Settings["inducing"]), oneIf(!set && strings.HasPrefix(c.Data, "cifar10"))
	}
	return map[string]string{"ella": "ELLA", "gp-subset": "GP-Subset", "sngp": "SNGP"}[s.Method], 0
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// llaRow names a row of the LLA family.
func llaRow(structure, weights string) string {
	end, ok := map[string]string{"full": "", "<nil>": "", "kfac": " KFAC", "diag": " Diag"}[structure]
	switch {
	case !ok:
		return ""
	case weights == "[last-layer]":
		return "LLA last-layer" + end
	case weights == "[all]":
		return "LLA" + end
	}
	return ""
}

// pair gives each published row to one line: the first line of those with the settings nearest to
// the published settings.
func pair(lines []*line) {
	best := map[place]*line{}
	for _, l := range lines {
		at := place{l.paper, l.probs}
		if b := best[at]; b == nil || l.far < b.far {
			best[at] = l
		}
	}
	for _, l := range lines {
		if best[place{l.paper, l.probs}] != l {
			l.paper = ""
		}
	}
}
