package gp

import (
	"errors"
	"maps"
	"testing"

	"github.com/go-valla/valla/internal/settings"
)

func TestComplete(t *testing.T) {
	type some struct {
		Rate  float64 `set:"rate" default:"0.5" above:"0" help:"a rate"`
		Count int     `set:"count" default:"3" min:"1" help:"a number"`
		Name  string  `set:"name" help:"a name without a default"`
	}
	s := some{Count: 7}
	m, err := Complete(&s)
	if err != nil || s != (some{0.5, 7, ""}) || !maps.Equal(m, map[string]any{"rate": 0.5, "count": 7}) {
		t.Errorf("%+v, %v, error %v", s, m, err)
	}
	if m, err := Complete(&some{Rate: -1}); m != nil || !errors.Is(err, settings.ErrSetting) {
		t.Errorf("a rate below 0: %v, error %v", m, err)
	}
}
