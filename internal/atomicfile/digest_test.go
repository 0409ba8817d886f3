package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDigest: "abc" has the sum that FIPS 180-4 gives, and a folder has no sum.
func TestDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abc")
	if err := os.WriteFile(path, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got, err := Digest(path); err != nil || got != want {
		t.Errorf("sum %s, error %v, want %s", got, err, want)
	}
	for _, path := range []string{filepath.Dir(path), path + "d"} {
		if sum, err := Digest(path); err == nil {
			t.Errorf("%s has the sum %s", path, sum)
		}
	}
}
