// Package assess makes a page about the predictions of a model for rows with known targets. The page
// compares the scores of the model with the scores of the network alone and of a temperature, and
// shows coverage, sharpness, residuals, confusions and the worst rows.
package assess
