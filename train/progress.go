package train

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// redrawEvery is often enough for the eye and rare enough to cost nothing.
const redrawEvery = 100 * time.Millisecond

// bar shows the progress of a run. A nil bar shows nothing.
type bar struct {
	out         io.Writer
	bar         *progressbar.ProgressBar
	label       string
	first, last int // iterations made at the start and to be made in all
	loss        float64
	done        int
	validation  string
	drawn       time.Time
}

// newBar returns a bar on w if that is a terminal, otherwise nil.
func newBar(w io.Writer, label string, done, total int) *bar {
	f, ok := w.(*os.File)
	if !ok || done >= total || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return drawBar(f, label, done, total)
}

// drawBar returns a bar on w. It counts the iterations of this run only, so that
// rate and remaining time are right in a resumed one; the text counts all.
func drawBar(w io.Writer, label string, done, total int) *bar {
	return &bar{out: w, label: label, first: done, last: total, done: done, bar: progressbar.NewOptions(total-done,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("it"))}
}

// step reports that done iterations are made, the last with the given loss.
func (b *bar) step(done int, loss float64) {
	if b == nil {
		return
	}
	b.done, b.loss = done, loss
	if time.Since(b.drawn) >= redrawEvery || done == b.last {
		b.draw()
	}
}

// validated reports a validation of the present parameters.
func (b *bar) validated(value float64) {
	if b == nil {
		return
	}
	b.validation = fmt.Sprintf(" validation %.4g", value)
	b.draw()
}

// close leaves the last state on a line of its own.
func (b *bar) close() {
	if b == nil {
		return
	}
	b.draw()
	fmt.Fprintln(b.out)
}

// draw ignores errors: a terminal that went away is no reason to stop training.
func (b *bar) draw() {
	b.drawn = time.Now()
	b.bar.Describe(fmt.Sprintf("%s %d/%d loss %.4g%s", b.label, b.done, b.last, b.loss, b.validation))
	_ = b.bar.Set(b.done - b.first)
}
