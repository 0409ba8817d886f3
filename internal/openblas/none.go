//go:build noopenblas || !((linux || darwin || windows) && (amd64 || arm64))

package openblas

import "fmt"

func load(string) error {
	return fmt.Errorf("%w: this program was built without the loading of libraries", ErrNotFound)
}
