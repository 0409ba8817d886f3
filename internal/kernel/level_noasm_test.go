//go:build noasm || !(amd64 || arm64)

package kernel

import "testing"

// everyLevel runs a test with every set of instructions this build has.
func everyLevel(t *testing.T, f func(t *testing.T)) { t.Run("plain", f) }
