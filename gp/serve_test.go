package gp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestCannotServe: the error names the method and the model, and says that the problem is wrong.
func TestCannotServe(t *testing.T) {
	err := CannotServe("ELLA", likelihood.Softmax{})
	if !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), "ELLA cannot serve the likelihood softmax") {
		t.Errorf("error %q", err)
	}
}

// noiseless is a model of counts without noise.
type noiseless struct{ likelihood.Likelihood }

func (noiseless) Kind() likelihood.Kind { return likelihood.Count }
func (noiseless) String() string        { return "counts" }

// TestCheckNoiseStd: a noise is refused where the model has none, with the words for the model.
func TestCheckNoiseStd(t *testing.T) {
	for _, c := range []struct {
		std  float64
		l    likelihood.Likelihood
		want string
	}{
		{0.1, likelihood.NewGaussian(1, tensor.Float64), "<nil>"},
		{0, likelihood.Softmax{}, "<nil>"},
		{0.1, likelihood.Softmax{}, "noise-std 0.1 with classes, which have no noise"},
		{0.2, noiseless{}, "noise-std 0.2 with the likelihood counts, which has no noise"},
	} {
		if text := fmt.Sprint(CheckNoiseStd(c.std, c.l)); !strings.HasSuffix(text, c.want) {
			t.Errorf("error %q, expected %q", text, c.want)
		}
	}
}
