package valla

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: beside the little memory of small models its collector would take a fifth of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
