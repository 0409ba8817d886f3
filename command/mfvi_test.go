package command_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTrainedFurther: a method that trains the network says that predictions have changed, and
// its own probabilities are the usual ones.
func TestTrainedFurther(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(200, 1)))
	must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--out", "map.valla")...)
	r := run(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "mfvi", "--log-std", "-2", "--samples", "7", "--out", "m.valla")
	const own = "Predictions are means over 7 draws of weights that were trained further, not the network's."
	for _, want := range []string{"MF-VI", "largest change of a mean", "largest change of ψ", "the last kept, validation loss"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("fit printed %q, want %q", r.stdout, want)
		}
	}
	if !strings.Contains(r.stderr, own) || !strings.Contains(r.stderr, "the spread of the weights is that of the start") {
		t.Errorf("exit code %d, notes %q", r.code, r.stderr)
	}
	var usual, probit evaluation
	decode(t, must(t, dir, "eval", "train.csv", "--model", "m.valla", "--json"), &usual)
	decode(t, must(t, dir, "eval", "train.csv", "--model", "m.valla", "--json", "--link", "probit"), &probit)
	if usual.Link != "own" || probit.Link != "probit" || usual.OwnMean != own || usual.Scores[0] != probit.Scores[0] || usual.Scores[1].NLL == probit.Scores[1].NLL {
		t.Errorf("%+v, by probit %+v", usual, probit)
	}
	if out := must(t, dir, "eval", "train.csv", "--model", "m.valla"); !strings.Contains(out, "probit and own probabilities") {
		t.Errorf("eval printed %q", out)
	}
	fails(t, dir, 2, "augment: the inputs are no images of bytes", "fit", "train.csv", "--model", "map.valla", "--method", "mfvi", "--augment", "--out", "a.valla")
}
