//go:build unix

package onnx

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: data in a pipe are refused; to open it would wait for a writer.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	location := func(m message) message {
		return m.number(14, 1).bytes(13, message{}.text(1, "location").text(2, "pipe"))
	}
	_, err := decode(modelOf(graphOf([]message{addW}, initial("w", 1, location, 2))), dir, Options{})
	if err == nil || !strings.Contains(err.Error(), `data in "pipe", expected a regular file`) {
		t.Errorf("error %v", err)
	}
}
