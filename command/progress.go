package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
)

const (
	// barEvery is the time between two drawings of the bar.
	barEvery = 100 * time.Millisecond
	// plainEvery is the time between two lines if there is no terminal. Shorter work prints no
	// line.
	plainEvery = 5 * time.Second
)

// progress is the state of a piece of work.
type progress struct {
	label string // name of the work
	done  int64  // finished units
	total int64  // all units; 0 if the number is not known
	unit  string // unit of done and total; "bytes" are shown in MB
	text  string // further text, such as the loss; may be ""
}

// String returns one line, such as "VaLLA 100: 200 of 1000 steps, loss 0.31".
func (p progress) String() string {
	done, total, unit := fmt.Sprint(p.done), fmt.Sprint(p.total), p.unit
	if unit == "bytes" {
		done, total, unit = fmt.Sprintf("%.1f", float64(p.done)/1e6), fmt.Sprintf("%.1f", float64(p.total)/1e6), "MB"
	}
	line := p.label + ": " + done
	if p.total > 0 {
		line += " of " + total
	}
	line += " " + unit
	if p.text != "" {
		line += ", " + p.text
	}
	return line
}

// continues says whether p and the earlier state before belong to the same piece of work.
func (p progress) continues(before progress) bool {
	return p.label == before.label && p.unit == before.unit && p.total == before.total && p.done >= before.done
}

// drawer shows the progress of pieces of work, one after the other. On a terminal it draws a bar;
// elsewhere it prints a line every few seconds.
type drawer struct {
	out      io.Writer        // receives the bar or the lines
	terminal bool             // whether out is a terminal
	now      func() time.Time // clock

	last  progress                 // latest state
	first int64                    // finished units at the start of the piece of work
	start time.Time                // start of the piece of work
	drawn time.Time                // time of the last drawing, or start of the work
	bar   *progressbar.ProgressBar // bar on the terminal; nil before the first drawing

	warned string // latest warning
}

// newDrawer returns a drawer on w. If asJSON is true, it draws on a terminal only: elsewhere stderr has
// nothing but the JSON object of an error.
func newDrawer(w io.Writer, asJSON bool) *drawer {
	terminal := isTerminal(w)
	if asJSON && !terminal {
		w = io.Discard
	}
	return &drawer{out: w, terminal: terminal, now: time.Now}
}

// isTerminal says whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// show stores the state p, and draws p if the last drawing is long enough ago.
func (d *drawer) show(p progress) {
	now := d.now()
	if !p.continues(d.last) {
		d.close()
		d.first, d.start = p.done, now
		if d.drawn.IsZero() {
			d.drawn = now
		}
	}
	d.last = p
	every := plainEvery
	if d.terminal {
		every = barEvery
	}
	if now.Sub(d.drawn) >= every {
		d.drawn = now
		d.draw()
	}
}

// draw draws the latest state. It ignores errors, because work goes on without a terminal.
func (d *drawer) draw() {
	if !d.terminal {
		fmt.Fprintln(d.out, d.last.String()+d.times())
		return
	}
	if d.bar == nil {
		d.bar = newBar(d.out, d.last, d.first)
	}
	d.bar.Describe(d.last.String())
	_ = d.bar.Set64(d.last.done - d.first)
}

// newBar returns a bar that counts from first, so that the rate and the remaining time of a resumed run
// are right.
func newBar(w io.Writer, p progress, first int64) *progressbar.ProgressBar {
	most := p.total - first
	if p.total == 0 {
		most = -1
	}
	return progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(20),
		progressbar.OptionSetSpinnerChangeInterval(0), // the bar is drawn only when Set64 is called
		progressbar.OptionShowBytes(p.unit == "bytes"),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(p.unit))
}

// times returns the time that the work has taken and the time that the rest will take at the same rate.
func (d *drawer) times() string {
	took := d.drawn.Sub(d.start)
	text := fmt.Sprintf(", %.0f s", took.Seconds())
	done, left := d.last.done-d.first, d.last.total-d.last.done
	if done > 0 && left > 0 {
		text += fmt.Sprintf(", about %.0f s left", took.Seconds()*float64(left)/float64(done))
	}
	return text
}

// close draws the last state of the bar, if there is a bar, and ends its line.
func (d *drawer) close() {
	if d.bar == nil {
		return
	}
	d.draw()
	fmt.Fprintln(d.out)
	d.bar = nil
}

// steps returns a function that shows the progress of the training or fit with the given label.
func (d *drawer) steps(label string) func(train.Progress) {
	return func(p train.Progress) { d.step(label, p) }
}

// step shows the progress p of the training or fit with the given label.
func (d *drawer) step(label string, p train.Progress) {
	d.warn(p.Warning)
	var losses []string
	if !math.IsNaN(p.Loss) {
		losses = append(losses, fmt.Sprintf("loss %.4g", p.Loss))
	}
	if !math.IsNaN(p.Validation) {
		losses = append(losses, fmt.Sprintf("validation loss %.4g", p.Validation))
	}
	d.show(progress{label: label, done: int64(p.Done), total: int64(p.Total), unit: p.Unit, text: strings.Join(losses, ", ")})
}

// rows shows the number of rows that have been read from the file at path. About is the approximate
// number of all rows; 0 means unknown.
func (d *drawer) rows(path string, read int, about int64) {
	if int64(read) > about {
		about = 0
	}
	d.show(progress{label: filepath.Base(path), done: int64(read), total: about, unit: "rows"})
}

// predicted returns a function that shows the number of predicted rows of the file at path.
func (d *drawer) predicted(path string) func(done, total int) {
	return func(done, total int) {
		d.show(progress{label: filepath.Base(path), done: int64(done), total: int64(total), unit: "predictions"})
	}
}

// warn prints a warning on a line, unless it is "" or the same as the last warning.
func (d *drawer) warn(text string) {
	if text != "" && text != d.warned {
		d.close()
		fmt.Fprintln(d.out, "valla: warning:", text)
	}
	d.warned = text
}

// estimate returns a function that prints the time and the memory that a fit will take.
func (d *drawer) estimate(label string) func(gp.Estimate) {
	return func(e gp.Estimate) {
		text := fmt.Sprintf("%s takes about %s and %s", label, seconds(e.Seconds), graph.Bytes(e.Bytes))
		if e.With != "" {
			text += " with " + e.With
		}
		if e.LongerSeconds > 0 {
			text += fmt.Sprintf("; %s takes about %s", flagged(e.Longer), seconds(e.LongerSeconds))
		} else if e.Longer != "" {
			text += "; " + flagged(e.Longer) + " needs more memory"
		}
		switch less := flagged(e.Cheaper); {
		case e.Seconds <= gp.Long || less == "":
		case e.CheaperSeconds > 0:
			text += fmt.Sprintf("; %s takes about %s", less, seconds(e.CheaperSeconds))
		default:
			text += "; " + less + " takes less"
		}
		fmt.Fprintln(d.out, "valla: estimate:", text)
	}
}

// seconds returns a duration for people, with the precision of an estimate.
func seconds(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.1f s", max(s, 0.1))
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	}
	return fmt.Sprintf("%.1f h", s/3600)
}
