package pass

import (
	"context"
	"io"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// Score is score for the tests outside the package, with the level 0.95.
func Score(ctx context.Context, m *valla.Model, part data.Part, names bool, to io.Writer) error {
	_, _, err := score(ctx, m, data.TableReader{}, part, scoreOptions{Options{Level: 0.95}, names}, to)
	return err
}

// Key is key for the tests outside the package.
func (j *Job) Key() string { return j.key() }
