package honest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

var update = flag.Bool("update", false, "measure all networks anew and write docs/honest.md")

// document is where the tables are, between two marks.
const (
	document  = "../../docs/honest.md"
	beginMark = "<!-- tables: begin -->\n"
	endMark   = "<!-- tables: end -->\n"
)

// TestTable writes the tables into the document with the flag -update.
func TestTable(t *testing.T) {
	if !*update {
		t.Skip("without the flag -update")
	}
	fixture.Shared(t, "data")
	var cases []*Case
	for _, n := range Networks() {
		cases = append(cases, open(t, n))
	}
	tables, err := Table(context.Background(), cases, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		t.Fatalf("%s: expected the marks %q and %q", document, beginMark, endMark)
	}
	out := before + beginMark + "Made with " + runtime.Version() + " on " + runtime.GOOS + "/" + runtime.GOARCH + ".\n\n" + tables + endMark + after
	if err := os.WriteFile(filepath.FromSlash(document), []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}
