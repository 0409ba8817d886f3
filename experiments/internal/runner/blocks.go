package runner

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/cputime"
)

// blocks keep the predictions of an unfinished cell, so that the cell goes on where it was interrupted. A block of rows that
// took long has a file of its own. The first block is always computed. If its file does not hold the same bits, another
// program or another fit wrote the files, and all files are removed.
type blocks struct {
	dir   string      // of the files; "" keeps nothing
	next  int         // number of the next block
	spent result.Cost // on the blocks that files held
}

// block is what a file holds.
type block struct {
	Program string
	Latent  gp.Gaussian
	Wall    time.Duration // that the block took
	CPU     float64       // seconds of all threads
}

// longBlock is the time from which on a block is kept.
var longBlock = time.Second

// predict returns the next block, which a file holds or compute computes.
func (k *blocks) predict(compute func() (gp.Gaussian, error)) (gp.Gaussian, error) {
	number := k.next
	k.next++
	kept := k.read(number)
	if kept != nil && number > 0 {
		k.spent = k.spent.Add(result.Cost{Wall: kept.Wall.Seconds(), CPU: kept.CPU})
		k.spent.Runs = 1
		return kept.Latent, nil
	}
	start, cpu := time.Now(), cputime.Seconds()
	g, err := compute()
	if err != nil || k.dir == "" {
		return g, err
	}
	b := block{valla.Version(), g, time.Since(start), cputime.Seconds() - cpu}
	if number == 0 && !b.same(kept) {
		if err := os.RemoveAll(k.dir); err != nil {
			return g, fmt.Errorf("runner: %w", err)
		}
	}
	if b.Wall < longBlock {
		return g, nil
	}
	return g, k.write(number, b)
}

func (k *blocks) path(number int) string {
	return filepath.Join(k.dir, fmt.Sprintf("%06d.gob", number))
}

// read returns a block that is kept, and nil where there is none, or a damaged one.
func (k *blocks) read(number int) *block {
	if k.dir == "" {
		return nil
	}
	f, err := os.Open(k.path(number))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := &block{}
	if gob.NewDecoder(f).Decode(b) != nil {
		return nil
	}
	return b
}

func (k *blocks) write(number int, b block) error {
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return atomicfile.Write(k.path(number), 0o644, func(w io.Writer) error { return gob.NewEncoder(w).Encode(b) })
}

// same reports whether the same program has computed the same bits.
func (b block) same(kept *block) bool {
	if kept == nil || kept.Program != b.Program {
		return false
	}
	return bytes.Equal(bitsOf(b.Latent), bitsOf(kept.Latent))
}

// bitsOf returns what tells predictions apart.
func bitsOf(g gp.Gaussian) []byte {
	var w bytes.Buffer
	_ = gob.NewEncoder(&w).Encode(g) // a Gaussian can be encoded, and a buffer takes all
	return w.Bytes()
}
