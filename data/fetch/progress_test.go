package fetch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	var out bytes.Buffer
	b := drawBar(&out, "a.gz", 2000)
	b.set(500)
	b.set(2000)
	b.close()
	for _, want := range []string{"a.gz", "100%", "(2.0/2.0 kB"} {
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
	o := options(t, serve(t, good))
	o.Progress = f
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%d bytes written, want none (%v)", info.Size(), err)
	}
}
