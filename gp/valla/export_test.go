package valla

import "github.com/go-valla/valla/gp"

// Complete fills in the defaults of settings for a problem.
func Complete(s Settings, p gp.Problem) (Settings, error) { return s.complete(p) }
