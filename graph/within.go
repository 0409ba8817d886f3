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
	var p Pass
	_, _, err := Tile(what, size, max(1, limit), func(size int) (int64, error) {
		var err error
		if p, err = write(size); err != nil {
			return 0, err
		}
		bytes, err := Plan(p.Builder, p.Outputs, Options{Varying: []*Node{p.X}})
		return int64(bytes) + p.Beside, err
	})
	if err != nil {
		return nil, err
	}
	f, err := NewBatched(p.Builder, p.X, p.Outputs...)
	if err != nil {
		return nil, err
	}
	f.Limit(limit)
	return f, nil
}
