package npy_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
)

// This package and package fixture read the same files with different code, and find the
// same numbers.
func TestFixtureArchives(t *testing.T) {
	for _, name := range []string{"adam", "lla_exact", "metrics", "mlp_reg"} {
		a, err := npy.ReadArchive(filepath.Join(fixture.Dir(t), name+".npz"))
		if err != nil {
			t.Fatal(err)
		}
		want := fixture.Load(t, name)
		if !slices.Equal(a.Names, want.Names()) {
			t.Errorf("%s: arrays %q, want %q", name, a.Names, want.Names())
		}
		for _, key := range want.Names() {
			got, _ := a.Get(key)
			if !got.Eq(want.Dense(t, key)) {
				t.Errorf("%s: array %q differs", name, key)
			}
		}
	}
}
