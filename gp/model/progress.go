package model

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// ShowPass returns a function that shows on w how far a pass over data is, for
// laplace.Options.Progress; nil where w is no terminal.
func ShowPass(w io.Writer, label string) func(done, total int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return drawPass(f, label)
}

// drawPass draws on w, whatever it is.
func drawPass(w io.Writer, label string) func(done, total int) {
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(20),
				progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"), progressbar.OptionSetDescription(label))
		}
		_ = bar.Set(done) // a terminal that went away is no reason to stop
		if done == total {
			fmt.Fprintln(w)
		}
	}
}
