package unseen_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/unseen"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// slopes are n images [2,20,24] of two classes: planes that rise with the row in the first channel and
// with the column in the second, from 0 in the middle.
func slopes(t *testing.T, n int) gp.Problem {
	t.Helper()
	const h, w = 20, 24
	net, err := layers.CNN{Channels: 2, Height: h, Width: w, Filters: []int{2}, Outputs: 2, Activation: "relu"}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	var x, y []float64
	for i := range n {
		for k := range 2 * h * w {
			row, column := float64(k%(h*w)/w)-(h-1)/2., float64(k%w)-(w-1)/2.
			x = append(x, []float64{row, column}[k/(h*w)])
		}
		y = append(y, float64(1-i%2), float64(i%2))
	}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: of(x, tensor.Float32, n, 2, h, w), Y: of(y, tensor.Float32, n, 2)}}
}

// TestImages: a part of a plane that is made larger is a plane that rises less, by the part's share of
// the height and of the width, within the bounds of the whole.
func TestImages(t *testing.T) {
	const h, w = 20, 24
	p := slopes(t, 40)
	out, _, err := unseen.Problem(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	v := out.Validation
	if !slices.Equal(v.X.Shape(), p.Train.X.Shape()) || v.X.Dtype() != tensor.Float32 || !slices.Equal(v.Y.Float32s(), p.Train.Y.Float32s()) {
		t.Fatalf("pseudo-rows of shape %v and %v", v.X.Shape(), v.X.Dtype())
	}
	shares := map[float64]bool{}
	for image := range slices.Chunk(v.X.Float32s(), 2*h*w) {
		at := func(c, i, j int) float64 { return float64(image[(c*h+i)*w+j]) }
		tall, wide := at(0, h/2, 5)-at(0, h/2-1, 5), at(1, 5, w/2)-at(1, 5, w/2-1)
		if area := tall * wide; area < 0.6-1e-4 || area > 1+1e-4 || tall/wide > 4./3+1e-4 || wide/tall > 4./3+1e-4 {
			t.Errorf("a part of %g times %g of the image", tall, wide)
		}
		shares[math.Round(1e6*tall)] = true
		for i := 1; i < h-2; i++ {
			if d := at(0, i+1, 3) - at(0, i, 3); i > 2 && i < h-4 && math.Abs(d-tall) > 1e-3 {
				t.Errorf("row %d rises by %g, want %g", i, d, tall)
			}
		}
		if slices.Max(image) > (w-1)/2. || slices.Min(image) < -(w-1)/2. {
			t.Errorf("from %g to %g", slices.Min(image), slices.Max(image))
		}
	}
	if len(shares) < 20 {
		t.Errorf("%d different parts of 40 images", len(shares))
	}
	again, _, err := unseen.Problem(t.Context(), p, 1)
	if err != nil || !slices.Equal(again.Validation.X.Float32s(), v.X.Float32s()) {
		t.Errorf("the same seed gives other rows, error %v", err)
	}
}

// TestNoImages: numbers, and images that are too small, have no pseudo-rows.
func TestNoImages(t *testing.T) {
	numbers := slopes(t, 4)
	numbers.Likelihood = likelihood.NewGaussian(1, tensor.Float32)
	tiny := slopes(t, 4)
	tiny.Train.X = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(4, 2, 15, 16))
	for name, p := range map[string]gp.Problem{"numbers": numbers, "tiny": tiny} {
		if _, _, err := unseen.Problem(t.Context(), p, 1); !errors.Is(err, gp.ErrProblem) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
