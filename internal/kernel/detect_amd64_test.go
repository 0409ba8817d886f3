//go:build !noasm

package kernel

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The environment variable GODEBUG switches instructions off, for measurements and tests of
// what processors without them do.
func TestSwitchedOff(t *testing.T) {
	if os.Getenv("VALLA_TEST_CHILD") != "" {
		t.Logf("assembly: %s.", Assembly())
		return
	}
	for off, want := range map[string]level{"avx512f": min(simd, avx2), "avx2": none} {
		child := exec.Command(os.Args[0], "-test.run=^TestSwitchedOff$", "-test.v")
		child.Env = append(os.Environ(), "VALLA_TEST_CHILD=1", "GODEBUG=cpu."+off+"=off")
		out, err := child.CombinedOutput()
		if line := "assembly: " + levels[want] + "."; err != nil || !strings.Contains(string(out), line) {
			t.Errorf("without %s: no line %q (%v) in\n%s", off, line, err, out)
		}
	}
}
