//go:build (linux || darwin) && (amd64 || arm64) && !noopenblas

package openblas

import "github.com/ebitengine/purego"

// usual are the names under which find looks for the library. They are file names for the system's
// loader, and paths of Homebrew.
var usual = []string{
	"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib",
	"/opt/homebrew/opt/openblas/lib/libopenblas.dylib", "/usr/local/opt/openblas/lib/libopenblas.dylib",
}

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }
