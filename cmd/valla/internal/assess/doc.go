// Package assess makes a page on how good the predictions of a model are on rows with known
// targets: scores beside those of the network alone and of a temperature, coverage,
// sharpness, residuals, confusions and the worst rows.
package assess
