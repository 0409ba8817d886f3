package gp

import "github.com/go-valla/valla/internal/settings"

// Complete fills in the defaults of the settings to which s points, as the tags of its fields give them, and
// returns the settings by name, as [Record] has them. A value outside its limits is an error that wraps
// valla.ErrSetting. Methods of packages outside this module call Complete at the start of a fit.
func Complete(s any) (map[string]any, error) {
	if err := settings.Complete(s); err != nil {
		return nil, err
	}
	return settings.Map(s), nil
}

// Completed returns the settings of a fit to a problem, after a check of the problem: complete fills in the defaults that
// depend on it.
func Completed[S any](p Problem, complete func(Problem) (S, error)) (S, error) {
	if err := p.Check(); err != nil {
		var none S
		return none, err
	}
	return complete(p)
}
