// Package experiments runs the paper's experiments and draws their pictures: which
// data, which settings, which methods, and how the results are shown.
package experiments
