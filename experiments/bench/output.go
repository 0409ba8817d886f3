package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
)

// session is the head of every report.
type session struct {
	Machine result.Machine `json:"machine"` // the machine that measured
	Load    [2]string      `json:"load"`    // before and after, over 1, 5 and 15 minutes
}

// newSession describes this machine and its load before a measurement.
func newSession() session {
	return session{Machine: result.ThisMachine(valla.Version()), Load: [2]string{load()}}
}

// line returns the parts of a description and the load as one line.
func (s session) line(parts ...string) string {
	return fmt.Sprintf("%s; load %s before, %s after\n", strings.Join(parts, ", "), s.Load[0], s.Load[1])
}

// load returns the load of the machine over 1, 5 and 15 minutes, or unknown if the system does
// not tell it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) >= 3 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}

// print writes a report as one JSON document if --json is given, and else as text.
func (c *Command) print(w io.Writer, report any, text func() string) error {
	if c.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	_, err := io.WriteString(w, text())
	return err
}

// printDrawn draws the pictures name.png and name.svg in the folder --dir, and prints a report.
func (c *Command) printDrawn(w io.Writer, name string, draw func(path string) error, report any, text func() string) error {
	dir := cmp.Or(c.dir, filepath.Join("runs", "bench"))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := draw(path); err != nil {
		return err
	}
	return c.print(w, report, func() string { return fmt.Sprintf("%swrote %s.png and %s.svg\n", text(), path, path) })
}

// newTable returns an empty table whose head keeps its letters.
func newTable() table.Writer {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = 0
	return w
}

// milliseconds returns a median with three digits, or "" without a timing.
func milliseconds(t *timing) string {
	if t == nil {
		return ""
	}
	return digits(1000 * t.Median)
}

// digits returns a positive number with three digits, without an exponent.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
