package fetch

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows the progress of one file. A nil bar shows nothing.
type bar struct {
	out io.Writer
	bar *progressbar.ProgressBar
}

// newBar returns a bar on w if that is a terminal, otherwise nil. A size of 0 is one
// that is not known.
func newBar(w io.Writer, name string, size int64) *bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	if size == 0 {
		size = -1
	}
	return drawBar(f, name, size)
}

func drawBar(w io.Writer, name string, size int64) *bar {
	return &bar{out: w, bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(name),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond))}
}

// set says how many bytes there are. It ignores errors: a terminal that went away
// is no reason to stop.
func (b *bar) set(done int64) {
	if b != nil {
		_ = b.bar.Set64(done)
	}
}

// close leaves the bar on a line of its own.
func (b *bar) close() {
	if b != nil {
		fmt.Fprintln(b.out)
	}
}
