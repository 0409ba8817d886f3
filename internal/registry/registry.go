// Package registry holds tables of named entries to which packages outside the module add their own.
package registry

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// Table has entries in the order of their registration. Several goroutines may use a table at once.
type Table[T any] struct {
	what string // what an entry is, in messages

	mu      sync.RWMutex // guards the fields below
	names   []string     // of the entries
	entries []T          // in the same order
}

// New returns an empty table. The messages of the table use the word what for an entry.
func New[T any](what string) *Table[T] { return &Table[T]{what: what} }

// nameForm is the form of names. Names become keys of files and words of command lines.
var nameForm = regexp.MustCompile(`^[a-z0-9]+([-+][a-z0-9]+)*$`)

// Add puts an entry at the end of the table. A name consists of lower-case letters and digits, joined by
// hyphens or +. It is an error if the name has another form or is taken, and the table then does not change.
func (t *Table[T]) Add(name string, entry T) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("the name %q of a %s, expected lower-case letters and digits, joined by hyphens or +", name, t.what)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.names, name) {
		return fmt.Errorf("the name %q of a %s is taken", name, t.what)
	}
	t.names, t.entries = append(t.names, name), append(t.entries, entry)
	return nil
}

// Get returns the entry with a name, and whether there is one.
func (t *Table[T]) Get(name string) (entry T, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i := slices.Index(t.names, name); i >= 0 {
		return t.entries[i], true
	}
	return entry, false
}

// All returns a copy of the entries, in the order of their registration.
func (t *Table[T]) All() []T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.entries)
}

// Names returns a copy of the names, in the order of the registration.
func (t *Table[T]) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.names)
}
