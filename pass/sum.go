package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/internal/kernel"
)

// Sum adds up the rows of a part for the posterior of all rows, see [valla.Model.Sums], and
// writes the sums as an archive of arrays. It returns the number of rows and notes on them.
// Several goroutines must not use m at once.
func Sum(ctx context.Context, m *valla.Model, r data.TableReader, part data.Part, to io.Writer) (int64, []string, error) {
	s, err := m.Sums(gp.Run{})
	if err != nil {
		return 0, nil, err
	}
	rows, err := m.OpenPart(r, part, true)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	n := int64(0)
	err = batches(ctx, rows, func(set *data.Set) error {
		n += int64(set.N())
		return s.AddRows(ctx, set)
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

func member(name string) string { return "sums/" + name + ".npy" }

// Model returns the model of which the shards hold the sums, see [valla.Sums.Model].
func (m *Manifest) Model(ctx context.Context, j *Job, dir string, held *data.Set, seed uint64) (*valla.Model, error) {
	of, err := valla.Load(j.Model)
	if err != nil {
		return nil, err
	}
	s, err := of.Sums(gp.Run{})
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
		*v, err = m.Added(dir, name, shape...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Model(ctx, m.Rows, held, seed)
}

// Added returns the sum of an array over all shards. The order of the additions depends on the
// numbers of the parts alone: those of the greatest power of two of them that is not all, and
// the rest, are added first, and so on. At any time there are no more arrays in memory than this
// tree is high.
func (m *Manifest) Added(dir, name string, shape ...int) ([]float64, error) {
	return tree(0, len(m.Shards), func(i int) ([]float64, error) {
		return m.Shards[i].array(dir, name, shape...)
	})
}

// tree adds the leaves from … to−1.
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

// array reads an array of a shard.
func (r *Record) array(dir, name string, shape ...int) ([]float64, error) {
	path := filepath.Join(dir, r.Shard)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := archive.Open(f, r.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := a.Array(member(name), tensor.Float64, shape...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t.Float64s(), nil
}
