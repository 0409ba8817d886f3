package command

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindings(t *testing.T) {
	dir, why := t.TempDir(), errors.New("no home")
	for _, c := range []struct {
		got         finding
		state, text string
	}{
		{aboutMemory(4<<30, math.MaxInt64), works, "4 GiB may be taken"},
		{aboutMemory(4<<30, 5<<30), works, "GOMEMLIMIT at 5 GiB"},
		{aboutMemory(math.MaxInt64, math.MaxInt64), works, "does not say"},
		{aboutMemory(100<<20, math.MaxInt64), low, "100 MiB"},
		{aboutFolder("cache", "", why, absent, "help"), absent, "no home"},
		{aboutFolder("cache", filepath.Join(dir, "a", "b"), nil, absent, "help"), works, "can be written to"},
		{aboutFolder("temporary", filepath.Join(dir, "a"), nil, broken, "help"), broken, "is not there"},
	} {
		if c.got.State != c.state || !strings.Contains(c.got.Text, c.text) || (c.got.Remedy == "") != (c.state == works) {
			t.Errorf("finding %+v, want %s, %q", c.got, c.state, c.text)
		}
	}
	if err := failed([]finding{{Name: "a", State: absent}, {Name: "b", State: broken}, {Name: "c", State: broken}}); err == nil || err.Error() != "2 of 3 checks failed: b, c" {
		t.Errorf("error %v", err)
	}
}

// TestProductError: the check of numbers can fail. Rounding of float32 is far above the tolerance of float64.
func TestProductError(t *testing.T) {
	if worst := productError[float32](1e-13); worst < 10 {
		t.Errorf("error %g", worst)
	}
}
