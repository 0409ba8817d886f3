//go:build windows && (amd64 || arm64) && !noopenblas

package openblas

import "syscall"

// usual are the file names under which the system's loader looks for the library.
var usual = []string{"libopenblas.dll", "openblas.dll"}

func open(name string) (uintptr, error) {
	handle, err := syscall.LoadLibrary(name)
	return uintptr(handle), err
}

func symbol(library uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(library), name)
}
