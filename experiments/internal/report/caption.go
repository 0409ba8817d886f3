package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/go-valla/valla/experiments/internal/result"
)

// Captions that no number changes.
const (
	pointCaption = "The same bands for the methods with several numbers of points. " +
		"With more points the band approaches the dashed lines of exact LLA."
	learningCaption = "Negative log-likelihood (NLL) on the validation rows, of standardised targets in regression; first seed. " +
		"Lower and further left is better. The horizontal axes have powers of ten, and values far above the other values are cut off. A curve that rises again shows overfitting; the fit keeps the best state, unless the row says keep-last."
	timeCaption = "CPU time of all threads on the trained network, over seeds; the box holds the middle half and its line is the median. " +
		"For MAP it is the time of the training. The axis has powers of ten, because methods differ more than machines."
)

// extremes returns the cells with the smallest and the largest finite value; nil where there
// are not two.
func extremes(cells []*result.Cell, value func(*result.Cell) float64) (low, high *result.Cell) {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *result.Cell) bool { v := value(c); return v-v != 0 })
	if len(cells) < 2 {
		return nil, nil
	}
	by := func(a, b *result.Cell) int { return cmp.Compare(value(a), value(b)) }
	return slices.MinFunc(cells, by), slices.MaxFunc(cells, by)
}

// see adds to a caption which method has the smallest and which the largest value.
func see(caption, what string, cells []*result.Cell, value func(*result.Cell) float64) string {
	low, high := extremes(cells, value)
	if low == nil || value(low) == value(high) {
		return caption
	}
	return fmt.Sprintf("%s %s: smallest with %s (%s), largest with %s (%s).", caption, what, low.Row, format(value(low), 3), high.Row, format(value(high), 3))
}

// bandCaption names the methods that are nearest to exact LLA and farthest from it.
func bandCaption(cells []*result.Cell) string {
	caption := "Training rows (dots), mean, and two standard deviations of y; the dashed lines are exact LLA's band, and Z the inducing inputs. The band should grow between the rows and beyond them."
	exact := exactLLA(cells)
	if exact == nil {
		return caption
	}
	others := slices.DeleteFunc(slices.Clone(cells), func(c *result.Cell) bool { return c == exact || c.Curves.Band == nil || c.Method == "map" })
	return see(caption, "Mean difference between the standard deviations of the method and of exact LLA, as a fraction of the standard deviation of exact LLA", others, func(c *result.Cell) float64 {
		return result.StdError(exact.Curves.Band, c.Curves.Band)
	})
}

// exactLLA returns the cell of LLA with all weights and its whole covariance, if it has a band.
func exactLLA(cells []*result.Cell) *result.Cell {
	for _, c := range cells {
		if isExact(c) && c.Curves.Band != nil {
			return c
		}
	}
	return nil
}

func isExact(c *result.Cell) bool { name, _ := paperRow(c); return name == "LLA" }

func coverageCaption(cells []*result.Cell) string {
	return see("Share of the test targets inside the central interval of probability α; first seed. On the dashed diagonal intervals hold what they promise; below the diagonal they are too narrow, and above it too wide.",
		"Area between (CQM)", cells, score("CQM", func(c *result.Cell) bool { return c.Curves.Coverage != nil }, ""))
}

// score returns a score of a cell that the figure shows, of the first of the kinds that the cell has; NaN if the figure shows no
// curve or the cell has no score.
func score(name string, shown func(*result.Cell) bool, kinds ...string) func(*result.Cell) float64 {
	return func(c *result.Cell) float64 {
		for _, kind := range kinds {
			if v, ok := c.Scores[kind][name]; ok && shown(c) {
				return float64(v)
			}
		}
		return math.NaN()
	}
}

// probabilities names the kinds of class probabilities of the cells that a figure shows.
func probabilities(cells []*result.Cell, shown func(*result.Cell) bool) string {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *result.Cell) bool { return !shown(c) })
	own := slices.DeleteFunc(slices.Clone(cells), func(c *result.Cell) bool { return c.Scores["probit"] != nil || c.Scores["own"] == nil })
	switch len(own) {
	case 0:
		return "probit probabilities"
	case len(cells):
		return "own probabilities"
	}
	return "probit or own probabilities"
}

func rotationCaption(cells []*result.Cell) string {
	kinds := probabilities(cells, func(c *result.Cell) bool { return c.Curves.Rotations != nil })
	return see("Test images turned by 0° to 180°; "+kinds+". The accuracy falls with every method. If a method notices the rotation, its NLL and its ECE rise less.",
		"Mean NLL over the angles", cells, func(c *result.Cell) float64 {
			sum := 0.0
			for _, r := range c.Curves.Rotations {
				sum += float64(r.NLL)
			}
			return sum / float64(len(c.Curves.Rotations)) // NaN of none
		})
}

func corruptionCaption(cells []*result.Cell) string {
	kinds := probabilities(cells, func(c *result.Cell) bool { return c.Curves.Corrupted != nil })
	return see("Boxes over the kinds of corruption at severities 1 to 5; "+kinds+". If a method notices the corruption, its boxes stay low as the severity grows.",
		"Mean NLL at severity 5", cells, func(c *result.Cell) float64 {
			return stat.Mean(atLevel(c, 5, changedNLL), nil) // NaN of none
		})
}

func reliabilityCaption(cells []*result.Cell) string {
	shown := func(c *result.Cell) bool { return c.Curves.Reliable != nil }
	return see("Accuracy against confidence in 15 bins; "+probabilities(cells, shown)+", first seed. On the diagonal a prediction with a confidence of 70 % is right in 70 % of the cases; below the diagonal the method is overconfident, above it under-confident.",
		"Mean distance (ECE)", cells, score("ECE", shown, "probit", "own"))
}

func entropyCaption(cells []*result.Cell) string {
	shown := func(c *result.Cell) bool { return c.Curves.Entropy != nil }
	return see("Predictive entropy of the test images and of images from another data set; "+probabilities(cells, shown)+", first seed. The less the two distributions overlap, the better the entropy detects images of the other data set.",
		"Area under the ROC curve (OOD-AUC)", cells, score("OOD-AUC", shown, "probit", "own"))
}
