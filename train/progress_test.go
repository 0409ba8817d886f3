package train

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBarShowsTheRun(t *testing.T) {
	var out bytes.Buffer
	b := drawBar(&out, "MAP", 20, 40)
	b.step(21, 2.5)
	b.validated(0.125)
	for i := 22; i <= 40; i++ {
		b.step(i, 1.5)
	}
	b.close()
	for _, want := range []string{"MAP 21/40 loss 2.5", "validation 0.125", "MAP 40/40 loss 1.5 validation 0.125 100%", "it/s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n") {
		t.Error("the bar does not leave its line")
	}
}

func TestQuietWithoutATerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var buffer bytes.Buffer
	for _, cfg := range []Config{{Progress: f}, {Progress: &buffer}, {}} {
		cfg.Iterations, cfg.Validate, cfg.ValidateEvery = 3, sequence(1, 2, 3), 1
		if _, err := Run(t.Context(), newBowl[float64](), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 || buffer.Len() != 0 {
		t.Errorf("%d and %d bytes written, want none (%v)", info.Size(), buffer.Len(), err)
	}
}
