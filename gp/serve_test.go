package gp

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
)

// TestCannotServe: the error names the method and the model, and says that the problem is wrong.
func TestCannotServe(t *testing.T) {
	err := CannotServe("ELLA", likelihood.Softmax{})
	if !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), "ELLA cannot serve the likelihood softmax") {
		t.Errorf("error %q", err)
	}
}
