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
