package likelihood

import (
	"strings"

	"github.com/go-valla/valla/internal/settings"
)

// Named returns the settings of the model with a name. Each of the values is the name of a setting and its value, such
// as "parts=5", or the name alone of a setting that is true or false; other settings keep their defaults. The error for
// an unknown name, setting or value wraps settings.ErrSetting.
func Named(name string, values ...string) (Settings, error) {
	m, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	s := m.New()
	for _, pair := range values {
		key, value, given := strings.Cut(pair, "=")
		field := settings.Lookup(s, key)
		if field == nil {
			return nil, settings.Errorf("likelihood %s: setting %q, expected one of %q", name, key, settings.Names(s))
		}
		if !given && field.IsBool() {
			value = "true"
		}
		if err := field.Set(value); err != nil {
			return nil, settings.Errorf("likelihood %s: %s: %v", name, key, err)
		}
	}
	return s, nil
}
