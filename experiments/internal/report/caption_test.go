package report

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// A caption says which of the methods in the figure has the smallest and the largest score.
func TestCaptions(t *testing.T) {
	of := func(row string, ece float64) *result.Cell {
		c := cell("a", row, 0, map[string]result.Scores{"probit": {"ECE": result.Number(ece), "OOD-AUC": result.Number(ece)}, "": {"CQM": result.Number(ece)}})
		c.Curves = result.Curves{Reliable: []result.XY{{X: 1, Y: 1}}, Entropy: &result.Entropy{Max: 1}, Coverage: []float64{0.5},
			Rotations: []result.Turned{{Changed: result.Changed{NLL: result.Number(ece)}}}, Corrupted: []result.Corrupt{{Name: "fog", Level: 5, Changed: result.Changed{NLL: result.Number(ece)}}}}
		return c
	}
	unseen := of("D", 9)
	unseen.Curves = result.Curves{}
	for name, caption := range map[string]func([]*result.Cell) string{"reliability": reliabilityCaption, "entropy": entropyCaption,
		"coverage": coverageCaption, "rotations": rotationCaption, "corruptions": corruptionCaption} {
		if got := caption([]*result.Cell{of("B", 0.2), of("A", 0.1), unseen, of("C", 0.3)}); !strings.HasSuffix(got, ": smallest with A (0.100), largest with C (0.300).") {
			t.Errorf("%s: %q", name, got)
		}
		if got := caption([]*result.Cell{of("A", 0.1)}); strings.Contains(got, "smallest") || got == "" {
			t.Errorf("%s of one method: %q", name, got)
		}
	}
}

// The networks whose probabilities are their own are in the figures of probabilities, too.
func TestCaptionsOfOwnProbabilities(t *testing.T) {
	of := func(row, kind string, score float64) *result.Cell {
		c := cell("a", row, 0, map[string]result.Scores{kind: {"ECE": result.Number(score), "OOD-AUC": result.Number(score)}})
		c.Curves = result.Curves{Reliable: []result.XY{{X: 1, Y: 1}}, Entropy: &result.Entropy{Max: 1},
			Rotations: []result.Turned{{Changed: result.Changed{NLL: result.Number(score)}}}, Corrupted: []result.Corrupt{{Name: "fog", Level: 5, Changed: result.Changed{NLL: result.Number(score)}}}}
		return c
	}
	a, b, own := of("A", "probit", 0.1), of("B", "probit", 0.2), of("MF-VI", "own", 0.3)
	for name, caption := range map[string]func([]*result.Cell) string{"reliability": reliabilityCaption, "entropy": entropyCaption, "rotations": rotationCaption, "corruptions": corruptionCaption} {
		if got := caption([]*result.Cell{a, b, own}); !strings.Contains(got, "; probit or own probabilities") || !strings.HasSuffix(got, "largest with MF-VI (0.300).") {
			t.Errorf("%s: %q", name, got)
		}
		if got := caption([]*result.Cell{a, b}); !strings.Contains(got, "; probit probabilities") {
			t.Errorf("%s: %q", name, got)
		}
		if got := caption([]*result.Cell{own}); !strings.Contains(got, "; own probabilities") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestBandCaption(t *testing.T) {
	of := func(row string, latent float64) *result.Cell {
		c := cell("a", row, 0, nil)
		c.Curves.Band = &result.Band{Latent: []float64{latent}}
		return c
	}
	cells := []*result.Cell{of("LLA", 1), of("A", 1.5), of("B", 3)}
	if got := bandCaption(cells); !strings.HasSuffix(got, ": smallest with A (0.500), largest with B (2.000).") {
		t.Errorf("caption %q", got)
	}
	if got := bandCaption(cells[1:]); strings.Contains(got, "smallest") {
		t.Errorf("caption without exact LLA %q", got)
	}
}
