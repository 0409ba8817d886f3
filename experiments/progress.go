package experiments

import (
	"io"

	"github.com/go-valla/valla/gp/model"
)

// Progress shows how far a fit is, where its writer is a terminal.
type Progress struct {
	W     io.Writer // may be nil
	Label string
}

// Pass returns a function that shows a pass over data, for laplace.Options.Progress; nil
// where there is no terminal.
func (p Progress) Pass() func(done, total int) { return model.ShowPass(p.W, p.Label) }
