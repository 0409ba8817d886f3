package pass

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/layers"
)

// sumsOf starts the sums for a posterior of other rows than the rows of the model's fit. The fit to a sample
// has everything that is no sum: the inducing points, the directions, the structure, and the noise where no
// rows held out choose it. A posterior that is no function of sums is an error.
func sumsOf(m *valla.Model) (gp.Sums, error) {
	if m.Posterior == nil {
		return nil, errors.New("passes: the model has no posterior, expected one that was fitted to a sample of the rows")
	}
	if layers.Members(m.Net) != nil {
		return nil, errors.New("passes: the posterior of an ensemble of networks is no function of sums over rows")
	}
	q, ok := m.Posterior.Stored.(gp.Summed)
	if !ok {
		return nil, fmt.Errorf("passes: a posterior of the method %s is no function of sums over rows; those of lla, ella and valla are", m.Posterior.Method)
	}
	s, err := q.Sums(likelihood.WithNoise(m.Likelihood(), m.Posterior.NoiseVariance), gp.Run{})
	if err != nil {
		return nil, fmt.Errorf("passes: %w", err)
	}
	return s, nil
}

// sum adds up the rows of a part for the posterior of all rows, and writes the sums to to as an
// archive of arrays. It returns the number of rows, and notes on the rows. Several goroutines must
// not use m at once.
func sum(ctx context.Context, m *valla.Model, r data.TableReader, part data.Part, to io.Writer) (int64, []string, error) {
	s, err := sumsOf(m)
	if err != nil {
		return 0, nil, err
	}
	rows, err := m.Open(r, part, true)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	n := int64(0)
	err = listing.Batches(ctx, rows, func(_ int, set *data.Set) error {
		n += int64(set.N())
		e, err := m.Task.Examples(set, m.Dtype())
		if err != nil {
			return err
		}
		return s.Add(ctx, e)
	})
	if err != nil {
		return n, nil, err
	}
	w := archive.NewWriter(to)
	err = s.Each(func(name string, v *[]float64, shape ...int) error {
		w.Array(member(name), tensor.New(tensor.WithShape(shape...), tensor.WithBacking(*v)))
		return nil
	})
	return n, rows.Notes(), errors.Join(err, w.Close())
}

// member returns the name of an array in an archive.
func member(name string) string { return "sums/" + name + ".npy" }

// Model returns the model of job j whose posterior has all rows: it adds up the shards in the folder
// dir. If held is not nil, these held-out rows choose the standard deviations; seed divides them.
func (m *Manifest) Model(ctx context.Context, j *Job, dir string, held *data.Set, seed uint64) (*valla.Model, error) {
	of, err := j.load()
	if err != nil {
		return nil, err
	}
	s, err := sumsOf(of)
	if err != nil {
		return nil, err
	}
	for _, r := range m.Shards {
		if err := r.copyTo(io.Discard, dir); err != nil {
			return nil, err
		}
	}
	err = s.Each(func(name string, v *[]float64, shape ...int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		*v, err = m.added(dir, Array{name, shape})
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := of.Refit(ctx, held, seed, func(choose *gp.Examples) (*gp.Fitted, error) { return m.finish(ctx, s, choose) })
	if err != nil {
		return nil, fmt.Errorf("passes: %w", err)
	}
	return out, nil
}

// finish makes a posterior of the sums over all shards.
func (m *Manifest) finish(ctx context.Context, s gp.Sums, choose *gp.Examples) (*gp.Fitted, error) {
	if m.Rows < 1 {
		return nil, errors.New("no rows")
	}
	f, err := s.Finish(ctx, int(m.Rows), choose)
	if err != nil {
		return nil, err
	}
	settings := map[string]any{"passes": true}
	maps.Copy(settings, f.Record.Settings)
	f.Record.Settings = settings
	return f, nil
}

// Array is an array of sums over rows.
type Array struct {
	Name  string // name of the array in a shard
	Shape []int  // lengths of its axes
}

// Arrays returns the arrays of a job of the task [Fit]. Different workers may add different arrays.
func (j *Job) Arrays() (all []Array, err error) {
	m, err := j.load()
	if err != nil {
		return nil, err
	}
	s, err := sumsOf(m)
	if err != nil {
		return nil, err
	}
	err = s.Each(func(name string, _ *[]float64, shape ...int) error {
		all = append(all, Array{name, slices.Clone(shape)})
		return nil
	})
	return all, err
}

// file returns the path of the file for the array in the folder dir.
func (a Array) file(dir string) string {
	hash := sha256.Sum256([]byte(a.Name))
	return filepath.Join(dir, fmt.Sprintf("sum-%x.zip", hash[:8]))
}

// Add sums an array over all shards and writes the sum to the folder dir, where [Manifest.Model]
// finds it.
func (m *Manifest) Add(dir string, a Array) error {
	v, err := m.added(dir, a)
	if err != nil {
		return err
	}
	return atomicfile.Write(a.file(dir), 0o644, func(to io.Writer) error {
		w := archive.NewWriter(to)
		w.JSON(jobFile, m.Job)
		w.Array(member(a.Name), tensor.New(tensor.WithShape(a.Shape...), tensor.WithBacking(v)))
		return w.Close()
	})
}

// there returns the array that Add has written for this job, or nil if there is none.
func (m *Manifest) there(dir string, of Array) []float64 {
	f, err := os.Open(of.file(dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	a, err := archive.Open(f, info.Size())
	if err != nil {
		return nil
	}
	key := ""
	if text, err := a.Text(jobFile); err != nil || archive.Decode(jobFile, text, &key) != nil || key != m.Job {
		return nil
	}
	t, err := a.Array(member(of.Name), tensor.Float64, of.Shape...)
	if err != nil {
		return nil
	}
	return t.Float64s()
}

// added returns the sum of an array over all shards; where Add has written the sum, added reads it.
// The additions form a binary tree that depends on the number of parts alone, so that the sum has the
// same bits for any number of workers. The number of arrays in memory is at most the height of the
// tree.
func (m *Manifest) added(dir string, a Array) ([]float64, error) {
	if v := m.there(dir, a); v != nil {
		return v, nil
	}
	return tree(0, len(m.Shards), func(i int) ([]float64, error) {
		return m.Shards[i].array(dir, a)
	})
}

// tree returns the sum of the leaves from, …, to−1. Its left half has the greatest power of two of
// leaves that leaves some for the right half.
func tree(from, to int, leaf func(int) ([]float64, error)) ([]float64, error) {
	if to-from == 1 {
		return leaf(from)
	}
	half := 1
	for 2*half < to-from {
		half *= 2
	}
	a, err := tree(from, from+half, leaf)
	if err != nil {
		return nil, err
	}
	b, err := tree(from+half, to, leaf)
	if err != nil {
		return nil, err
	}
	kernel.Add(a, a, b)
	return a, nil
}

// array reads an array from the shard of the record in the folder dir.
func (r *Shard) array(dir string, of Array) ([]float64, error) {
	path := filepath.Join(dir, r.Name)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var t *tensor.Dense
	a, err := archive.Open(f, r.Bytes)
	if err == nil {
		t, err = a.Array(member(of.Name), tensor.Float64, of.Shape...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t.Float64s(), nil
}
