package command_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestFullDisk: a command whose output cannot be written says so, and its exit code is 1.
func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{{"data", "list"}, {"experiment", "list"}, {"--help"}, {"completion", "bash"}, {"method"}, {"version"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("no /dev/full: ", err)
		}
		cmd, stderr := program(args...), new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = full, stderr
		_ = cmd.Run() // the exit code says it
		full.Close()
		if code, text := cmd.ProcessState.ExitCode(), stderr.String(); code != 1 || strings.Count(text, "\n") != 1 || !strings.Contains(text, "no space left") {
			t.Errorf("valla %s: exit code %d, stderr %q", strings.Join(args, " "), code, text)
		}
	}
}
