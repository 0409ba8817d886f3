// Package report shows the results of experiments. Its tables set the paper's printed
// numbers and the means of its authors' released runs beside the measured ones. It writes
// tables and figures as one HTML page, as Markdown, and as text.
package report
