package data

import (
	"fmt"
	"math/rand/v2"
)

// A Sampler forms mini-batches of B out of N rows. The rows of a batch depend on the seed
// and on the number of the iteration alone. A training that is resumed at any iteration
// therefore sees the same batches.
//
// Epoch e is a random permutation of all rows, drawn from (seed, e). The epochs
// follow one another without a gap and are cut into batches of exactly B rows:
// a batch may end one epoch and begin the next, and may then hold a row twice.
//
// A Sampler keeps the current permutation and must not be used by several
// goroutines at once. Make one with [NewSampler].
type Sampler struct {
	N, B int    // numbers of rows and of rows of a batch
	Seed uint64 // of the permutations

	source rand.PCG // of the random numbers; it is seeded anew for each epoch
	epoch  int      // of order; -1 before the first
	order  []int    // N
}

// NewSampler returns the sampler of batches of b out of n rows. It returns an error unless
// 1 <= b <= n.
func NewSampler(n, b int, seed uint64) (*Sampler, error) {
	if b < 1 || b > n {
		return nil, fmt.Errorf("batch size %d, expected 1 to %d, the number of rows", b, n)
	}
	return &Sampler{N: n, B: b, Seed: seed, epoch: -1, order: make([]int, n)}, nil
}

// Batch returns the row numbers of the batch of an iteration; both count from 0. It
// overwrites dst and grows it where it is too small. For iterations in their order a call
// takes O(B) time on average and allocates nothing.
func (s *Sampler) Batch(iteration int, dst []int) []int {
	if iteration < 0 {
		panic(fmt.Sprintf("data: iteration %d", iteration))
	}
	dst = dst[:0]
	epoch, at := locate(iteration, s.B, s.N)
	for len(dst) < s.B {
		s.shuffle(epoch)
		dst = append(dst, s.order[at:min(s.N, at+s.B-len(dst))]...)
		epoch, at = epoch+1, 0
	}
	return dst
}

// locate returns the epoch in which the batch of an iteration begins, and its place there,
// for batches of b of n rows.
func locate(iteration, b, n int) (epoch, at int) {
	// iteration*b could overflow. A whole cycle is n batches, which are b epochs.
	cycle, rest := iteration/n, iteration%n
	return cycle*b + rest*b/n, rest * b % n
}

// shuffle makes order the permutation of an epoch (Fisher-Yates).
func (s *Sampler) shuffle(epoch int) {
	if epoch == s.epoch {
		return
	}
	s.epoch = epoch
	s.source.Seed(s.Seed, uint64(epoch))
	rng := rand.New(&s.source)
	for i := range s.order {
		j := rng.IntN(i + 1)
		s.order[i] = s.order[j]
		s.order[j] = i
	}
}
