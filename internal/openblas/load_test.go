//go:build (linux || darwin || windows) && (amd64 || arm64) && !noopenblas

package openblas

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLoadErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libopenblas.so")
	err := Load(missing)
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing file: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Load(text); !errors.Is(err, ErrNotFound) {
		t.Errorf("a text: %v", err)
	}
}

func TestOtherLibrary(t *testing.T) {
	if runtime.GOOS != "linux" || errors.Is(Load("libm.so.6"), ErrNotFound) {
		t.Skip("there is no libm.so.6 here")
	}
	err := Load("libm.so.6")
	if err == nil || errors.Is(err, ErrNotFound) {
		t.Fatalf("the C library's functions were taken for an OpenBLAS: %v", err)
	}
	for _, word := range []string{"libm.so.6 is no OpenBLAS", "sgemm_"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
