package report

import (
	_ "embed"
	"html/template"
	"regexp"
	"strings"
)

// Word is a word of the pages with its meaning.
type Word struct{ Name, Text string } // the word, and its meaning

// glossary explains the rows and columns of the tables of scores.
var glossary = []Word{
	{"printed, released, measured", "What the paper prints; the means of the runs that the authors of a method have released; and what this program computes. " +
		"An empty cell has no such number."},
	{"seeds", "The number of runs, each with its own random numbers and, on the small tables, its own rows to test on. Measured numbers are means ± standard deviations over them."},
	{"MAP", "The trained network alone. The other rows add error bars to it; MF-VI and SNGP train it further, and SFR has a mean of its own."},
	{"names of rows", "LLA is the linearized Laplace approximation, exact where nothing else is said. A number is that of inducing points. Natural: fitted by natural gradients instead of Adam. Last-layer: only the weights of the last layer are uncertain. " +
		"KFAC, Diag: their covariance has Kronecker factors, or a diagonal alone."},
	{"probs", "How probabilities of classes are made of the outputs and their variances: by the probit approximation; as means over samples (mc); or by a network that was trained further for them (own)."},
	{"ACC", "Accuracy: the share of right answers. Larger is better."},
	{"NLL", "Negative log-likelihood: the mean of −log p(target). This and the next five are the better, the smaller they are; NLL, RMSE and CRPS are in the units of the target."},
	{"RMSE", "Root mean squared error of the means."},
	{"CRPS", "Continuous ranked probability score: the distance of the predictive distribution from the target."},
	{"CQM", "∫ |coverage(α) − α| dα, where coverage(α) is the share of targets inside the central intervals of probability α."},
	{"ECE", "Expected calibration error: the mean distance of the probability of the answer from the share of right answers, in 15 bins."},
	{"Brier", "The mean over images of the sum over classes of (probability − 1 or 0)²."},
	{"OOD-AUC", "How well the entropy of a prediction tells images of another data set (out of distribution) from test images: the area under the ROC curve, 1 at best and 0.5 by chance."},
	{"Δσ", "Mean absolute difference of the function's standard deviation from exact LLA's along the grid of the picture, as a fraction of LLA's mean."},
	{"CPU, s", "Processor seconds of all threads that the fit took on the trained network; for MAP, those of the training of the network."},
}

// costWords explains the columns of the tables of costs, which the page of results lacks.
var costWords = []Word{
	{"σ₀", "Standard deviation of the prior of the weights."},
	{"Δψ", "The largest change of the logarithm ψ of a weight's standard deviation, in MF-VI."},
	{"fit, s", "Seconds of the method's own work on the trained network, by the clock; for MAP, of the training of the network."},
	{"peak, MiB", "The most memory during the fit."},
	{"predict, s", "Seconds of the predictions of all test inputs and their scores."},
}

// missing lists what the published cells lack, and why. Each item begins with a title.
//
//go:embed missing.md
var missing string

// item matches an item of the list, without its mark.
var item = regexp.MustCompile(`(?s)^\*\*(.+?)\*\*(.*)$`)

// missingWords returns the items of the list of what is missing.
func missingWords() (out []Word) {
	for _, text := range strings.Split("\n"+missing, "\n* ")[1:] {
		if m := item.FindStringSubmatch(text); m != nil {
			out = append(out, Word{strings.TrimSuffix(m[1], "."), strings.TrimSpace(m[2])})
		}
	}
	return out
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	strong = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// inline returns text of Markdown with its code and its bold words as HTML.
func inline(text string) template.HTML {
	text = quoted.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>")
	return template.HTML(strong.ReplaceAllString(text, "<strong>$1</strong>"))
}
