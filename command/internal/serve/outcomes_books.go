package serve

import "sync"

// books are the labels of the versions of a model that are in use: of the present version, of the one before, and of those that still
// have requests under way. Others are closed, so that a server whose model is often replaced does not grow.
type books struct {
	mu     sync.Mutex           // also held while a file is opened or closed, so that no file is open twice
	byHash map[string]*outcomes // labels by the hashes of the versions
}

func newBooks() *books { return &books{byHash: map[string]*outcomes{}} }

// open returns the labels of a version, which must release them. They are read from their file unless a version with the same hash is in
// use.
func (b *books) open(v *version, options Options) (o *outcomes, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o = b.byHash[v.hash]
	if o == nil {
		if o, err = openOutcomes(v, options); err != nil {
			return nil, err
		}
		b.byHash[v.hash], o.books = o, b
	}
	o.users++
	return o, nil
}

// share returns labels that are in use for another version, which must release them, too. They may be nil.
func (b *books) share(o *outcomes) *outcomes {
	if o != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		o.users++
	}
	return o
}

// release ends the use of labels by a version. The last one closes them.
func (o *outcomes) release() {
	if o == nil {
		return
	}
	o.books.mu.Lock()
	defer o.books.mu.Unlock()
	if o.users--; o.users == 0 {
		delete(o.books.byHash, o.version)
		o.close()
	}
}
