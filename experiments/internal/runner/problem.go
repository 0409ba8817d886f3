package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/npy"
)

// problem is a data set with its trained network. Methods are fitted to it.
type problem struct {
	name              string       // of the data set
	train, held, test *data.Set    // held is nil if no rows are kept for validation
	classes           bool         // the task is classification
	model             *valla.Model // the MAP network
	cost              result.Cost  // of its training
	note              string       // the origin of a network that was not trained

	// These are of images only, and nil where the data set has no such images.
	other   *data.Set                                                                  // test images of another data set
	turn    func(degrees float64, n int) (*data.Set, error)                            // the first n test images, turned
	corrupt func(ctx context.Context, kind string, severity, n int) (*data.Set, error) // and corrupted
}

// load reads a data set. Where the split is random, the seed chooses it. Where the set keeps
// no rows for validation, a fraction of the training rows is held out, chosen by the seed.
func load(name, folder string, fraction float64, seed uint64) (*problem, error) {
	s, err := sets.Lookup(name)
	if err != nil {
		return nil, err
	}
	if s.HasImages() {
		return loadImages(s, folder, fraction)
	}
	parts, err := s.Table(folder, seed)
	if err != nil {
		return nil, err
	}
	p := &problem{name: name, train: parts.Train, held: parts.Validation, test: parts.Test}
	if p.held == nil {
		p.train, p.held, err = holdout.Split(parts.Train, fraction, seed)
	} else if p.held.N() > holdout.Most {
		p.held = p.held.Rows(dense.Indices(holdout.Most))
	}
	return p, err
}

// load reads a data set, with the experiment's fraction of rows held out.
func (r *runner) load(name string, seed uint64) (*problem, error) {
	if r.Made {
		return made(name, *r.training.Validation, seed)
	}
	return load(name, r.Data, *r.training.Validation, seed)
}

// contents returns a checksum of all rows of a data set that cells with a seed depend on, so
// that they are computed again when a file has changed; "absent" if there are no files.
func (r *runner) contents(name string, seed uint64) (string, error) {
	s, err := sets.Lookup(name)
	if err != nil {
		return "", err
	}
	seed %= uint64(s.Splits) // the division; which rows are held out changes no content
	key := fmt.Sprint(name, " ", seed)
	if sum, ok := r.sums[key]; ok {
		return sum, nil
	}
	p, err := r.load(name, seed)
	if errors.Is(err, fs.ErrNotExist) {
		r.absent = true
		return "absent", nil
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, set := range []*data.Set{p.train, p.held, p.test, p.other} {
		if set != nil {
			fmt.Fprintf(h, "%q %q %v %v ", set.Features, set.Targets, set.X.Shape(), set.Y.Shape())
			err = errors.Join(err, npy.Encode(h, set.X), npy.Encode(h, set.Y))
		}
	}
	if r.sums == nil {
		r.sums = map[string]string{}
	}
	r.sums[key] = hex.EncodeToString(h.Sum(nil)[:8])
	return r.sums[key], err
}

// inUnits returns one-dimensional inputs of the network in the units of the data.
func inUnits(in task.Inputs, z []float64) []float64 {
	out := slices.Clone(z)
	for i := range out {
		if in.Mean != nil {
			out[i] = out[i]*in.Std[0] + in.Mean[0]
		}
	}
	return out
}
