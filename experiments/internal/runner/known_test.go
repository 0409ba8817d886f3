package runner

import (
	"slices"
	"testing"

	"github.com/go-valla/valla/experiments/internal/spec"
)

// Every embedded experiment is known, with text and the rows of its tables.
func TestKnown(t *testing.T) {
	list, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range list {
		names = append(names, k.Name)
		if k.About == "" || len(k.Rows) == 0 || k.Name != "toy" && !slices.Contains(k.Rows, "MAP") {
			t.Errorf("%+v", k)
		}
	}
	if !slices.Equal(names, spec.Names()) {
		t.Errorf("experiments %q, expected %q", names, spec.Names())
	}
}
