package layers

import (
	"strings"
	"testing"
)

// TestNormsWithoutAxes: a norm along the last axis refuses examples that have no axis.
func TestNormsWithoutAxes(t *testing.T) {
	for _, l := range []Layer{LayerNorm{}, RMSNorm{}} {
		if _, _, err := l.Make(counter(), nil); err == nil || !strings.Contains(err.Error(), "expected at least one axis") {
			t.Errorf("%T: error %v", l, err)
		}
	}
}
