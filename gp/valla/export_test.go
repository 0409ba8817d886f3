package valla

import "github.com/go-valla/valla/gp"

// Complete fills in the defaults of settings for a problem.
func Complete(s Settings, p gp.Problem) (Settings, error) { return s.complete(p) }

// Prefer sets the memory that predictions of several inputs may take.
func (p *Posterior) Prefer(bytes int64) { p.limit = bytes }
