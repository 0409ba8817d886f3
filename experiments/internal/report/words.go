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
	{"printed, released, measured", "The numbers in the paper; the means of the runs that the authors of a method have released; and the numbers that this program computes. " +
		"Empty cells have no number."},
	{"seeds", "The number of runs. Each run has its own random numbers and, on the small tables, its own test rows. Measured numbers are means ± standard deviations over the runs."},
	{"MAP", "The trained network alone. The other methods add error bars to the network; MF-VI and SNGP train the network further, and SFR has a mean of its own."},
	{"names of rows", "LLA is the linearized Laplace approximation; without further words it is exact. A number is the number of inducing points. Natural: fitted by natural gradients instead of Adam. Last-layer: only the weights of the last layer are uncertain. " +
		"KFAC, Diag: the covariance of the weights has Kronecker factors, or is diagonal."},
	{"probs", "The way from the outputs and their variances to class probabilities: the probit approximation (probit); means over samples (mc); or the own probabilities of a network that was trained further (own)."},
	{"ACC", "Accuracy: the share of correct predictions. Larger is better."},
	{"NLL", "Negative log-likelihood: the mean of −log p(target). NLL, RMSE, CRPS, CQM, ECE and Brier are better if they are smaller; NLL, RMSE and CRPS are in the units of the target."},
	{"RMSE", "Root mean squared error of the means."},
	{"CRPS", "Continuous ranked probability score: the distance of the predictive distribution from the target."},
	{"CQM", "∫ |coverage(α) − α| dα, where coverage(α) is the share of targets inside the central intervals of probability α."},
	{"ECE", "Expected calibration error: the mean distance between the probability of the predicted class and the share of correct predictions, in 15 bins."},
	{"Brier", "The mean over images of the sum over classes of (probability − 1 or 0)²."},
	{"OOD-AUC", "How well the entropy of a prediction detects images of another data set (out of distribution) among test images: the area under the ROC curve, 1 at best and 0.5 by chance."},
	{"Δσ", "Mean absolute difference between the standard deviations of the function with the method and with exact LLA, along the grid of the picture, as a fraction of the mean with exact LLA."},
	{"CPU, s", "CPU seconds of the fit over all threads; for MAP, CPU seconds of the training of the network. Where the runs of a row are of several processors, times and memory are means over those of the processor with the most runs, of two with equally many of the one with the latest run."},
}

// costWords explains the columns of the tables of costs, which the page of results lacks.
var costWords = []Word{
	{"σ₀", "Standard deviation of the prior of the weights."},
	{"Δψ", "The largest change of the logarithm ψ of a weight's standard deviation, in MF-VI."},
	{"fit, s", "Wall-clock seconds of the fit; for MAP, wall-clock seconds of the training of the network."},
	{"peak, MiB", "The largest memory during the fit."},
	{"predict, s", "Seconds for the predictions of all test inputs and their scores."},
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
