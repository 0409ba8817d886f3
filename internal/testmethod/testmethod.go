// Package testmethod lets the tests of this module add a method to the table of
// gp/method, which is closed otherwise. Nothing but tests calls Add.
package testmethod

import (
	"slices"
	"sync"

	"github.com/go-valla/valla/gp"
)

var (
	mu   sync.Mutex
	rows []gp.Method
)

// Add puts a method at the end of the table until remove is called.
func Add(m gp.Method) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	rows = append(slices.Clone(rows), m)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		rows = slices.DeleteFunc(slices.Clone(rows), func(r gp.Method) bool { return r.Name == m.Name })
	}
}

// Rows returns the methods that were added.
func Rows() []gp.Method {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(rows)
}
