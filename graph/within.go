package graph

// Pass is a graph of B examples, from which a program for passes over any number of examples is
// compiled.
type Pass struct {
	Builder *Builder
	X       *Node   // examples [B,…]
	Outputs []*Node // functions of X, whose axis 0 is the batch
	Beside  int64   // bytes that whoever reads a batch of outputs holds beside the program
}

// NewBatchedWithin compiles the pass that write writes for size examples at a time, or for a
// whole fraction of size where the pass would need more than limit bytes. what names the pass in
// the *MemoryError, which NewBatchedWithin returns where a single example needs more. Batches that
// are evaluated beside each other keep to limit, too.
func NewBatchedWithin(what string, size int, limit int64, write func(size int) (Pass, error)) (*Batched, error) {
	p, d, err := tiled(what, size, limit, write)
	if err != nil {
		return nil, err
	}
	f, err := d.Batched(p.X, p.Outputs...)
	if err != nil {
		return nil, err
	}
	f.Limit(limit - p.Beside)
	return f, nil
}

// CostWithin returns what [NewBatchedWithin] compiles for the same arguments takes: examples at a time, and the cost
// of a run, whose memory is that of a single batch.
func CostWithin(what string, size int, limit int64, write func(size int) (Pass, error)) (examples int, c Cost, err error) {
	p, d, err := tiled(what, size, limit, write)
	if err != nil {
		return 0, c, err
	}
	c = d.Cost()
	c.Bytes += p.Beside
	return p.X.Shape()[0], c, nil
}

// tiled plans the pass for the largest whole fraction of size that needs at most limit bytes.
func tiled(what string, size int, limit int64, write func(size int) (Pass, error)) (p Pass, d *Draft, err error) {
	_, _, err = Tile(what, size, max(1, limit), func(size int) (int64, error) {
		var err error
		if p, err = write(size); err == nil {
			d, err = NewDraft(p.Builder, p.Outputs, Options{Varying: []*Node{p.X}})
		}
		if err != nil {
			return 0, err
		}
		return d.Bytes() + p.Beside, nil
	})
	return p, d, err
}
