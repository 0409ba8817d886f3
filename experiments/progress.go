package experiments

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows how far a fit is, where its writer is a terminal.
type Progress struct {
	W     io.Writer // may be nil
	Label string
}

// Pass returns a function that shows a pass over data, for laplace.Options.Progress; nil
// where there is no terminal.
func (p Progress) Pass() func(done, total int) {
	f, ok := p.W.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(f), progressbar.OptionSetWidth(20),
				progressbar.OptionSetDescription(p.Label), progressbar.OptionShowIts())
		}
		_ = bar.Set(done) // a terminal that went away is no reason to stop
		if done == total {
			fmt.Fprintln(f)
		}
	}
}
