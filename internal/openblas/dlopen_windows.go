//go:build windows && (amd64 || arm64) && !noopenblas

package openblas

import "syscall"

// usual are the names by which the library is found, where the loader looks.
var usual = []string{"libopenblas.dll", "openblas.dll"}

func open(name string) (uintptr, error) {
	handle, err := syscall.LoadLibrary(name)
	return uintptr(handle), err
}

func symbol(library uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(library), name)
}
