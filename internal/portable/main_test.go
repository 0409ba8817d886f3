package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a module is fine for the systems that have what it calls, and for no others.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module example.com/own\n\ngo 1.26\n", "own.go": "package own\n\nimport \"os\"\n\nvar Name, _ = os.Hostname()\n",
		"signal_unix.go": "//go:build unix\n\npackage own\n\nimport \"syscall\"\n\nfunc Stop() error { return syscall.Kill(1, 9) }\n",
	} {
		if err := os.WriteFile(filepath.Join(".", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, system := range []string{"linux/arm64", "windows/amd64"} {
		if err := check(system, []string{"./..."}); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := os.WriteFile("call.go", []byte("package own\n\nfunc End() error { return Stop() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check("linux/arm64", []string{"./..."}); err != nil {
		t.Error(err)
	}
	if err := check("windows/amd64", []string{"./..."}); err == nil || !strings.Contains(err.Error(), "1 errors") {
		t.Errorf("error %v of a function that the system lacks", err)
	}
	if err := check("windows", nil); err == nil {
		t.Error("a system without a processor is taken")
	}
}
