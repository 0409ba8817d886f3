// Package report shows what experiments found: tables in which the paper's printed numbers,
// the means of its authors' released runs and what was measured here stand side by side, and
// figures, as one HTML page that needs nothing else, as Markdown, and as text.
package report
