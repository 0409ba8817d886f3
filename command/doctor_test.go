package command_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// checks are the findings of valla doctor --json.
type checks struct {
	Checks []struct{ Name, State, Text, Remedy string }
}

// TestDoctor: a line for each check, the same as JSON; on this machine nothing fails.
func TestDoctor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var doc checks
	decode(t, must(t, dir, "doctor", "--json", "--onnxruntime", "none.so"), &doc)
	lines := strings.Split(strings.TrimSpace(must(t, dir, "doctor", "--onnxruntime", "none.so")), "\n")
	if len(lines) != len(doc.Checks) || len(lines) < 10 {
		t.Fatalf("%d lines, %d checks", len(lines), len(doc.Checks))
	}
	want := map[string]string{"numbers": "OK", "speed": "OK", "onnxruntime": "absent", "this folder": "OK", "python": "OK"}
	for i, c := range doc.Checks {
		if !strings.HasPrefix(lines[i], c.Name) || !strings.Contains(lines[i], " "+c.State+" ") || c.Text == "" {
			t.Errorf("line %q of the check %+v", lines[i], c)
		}
		if state, ok := want[c.Name]; ok && state != c.State || (c.Remedy == "") != (c.State == "OK") {
			t.Errorf("check %+v", c)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("checks are missing: %v", want)
	}
	fails(t, dir, 2, "unknown", "doctor", "x")
}

// TestDoctorFails: without a temporary folder, the exit code is 1, and the line says what helps.
func TestDoctorFails(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(dir, "none"))
	}
	t.Setenv("VALLA_DATA", filepath.Join(dir, "data"))
	r := run(t, dir, "doctor", "--json")
	var doc checks
	decode(t, r.stdout, &doc)
	for _, c := range doc.Checks {
		if want := map[string]string{"temporary": "failed", "data": "absent"}[c.Name]; want != "" && (c.State != want || c.Remedy == "" || !strings.Contains(c.Text, dir)) {
			t.Errorf("check %+v, want it %s", c, want)
		}
	}
	var said struct {
		Error string
		Code  int
	}
	decode(t, r.stderr, &said)
	if r.code != 1 || said.Code != 1 || !strings.HasSuffix(said.Error, "checks failed: temporary") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}
