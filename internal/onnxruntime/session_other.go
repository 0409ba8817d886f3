//go:build !((linux || darwin) && (amd64 || arm64)) || noopenblas

package onnxruntime

import "errors"

var errSystem = errors.New("it is not used on this system")

func open(string) (*library, error) { return nil, errSystem }

func (*library) providers() ([]string, error) { return nil, errSystem }

// Session runs one model.
type Session struct{}

// Open returns an error: the library is not used on this system.
func Open(library, _, _ string, _ int) (*Session, error) {
	_, err := load(library)
	return nil, err
}

// Run returns an error: the library is not used on this system.
func (*Session) Run(string, Tensor, []string) ([][]float64, error) { return nil, errSystem }
