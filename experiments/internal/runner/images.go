package runner

import (
	"context"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/sets"
)

// loadImages reads a set of images. Grey images are validated with all images that the set
// keeps for this. Colour images are validated with a fraction of the images that the set keeps, see cropped.
func loadImages(s sets.Set, folder string, fraction float64) (*problem, error) {
	splits, err := s.Images(folder)
	if err != nil {
		return nil, err
	}
	p := &problem{name: s.Name, classes: true, train: asSet(splits.Train), held: asSet(splits.Validation), test: asSet(splits.Test)}
	if splits.Train.C == 3 {
		p.held = asSet(cropped(splits.Validation, fraction))
		p.corrupt = func(ctx context.Context, kind string, severity, n int) (*data.Set, error) {
			return corrupted(ctx, splits.Test, kind, severity, n)
		}
		return p, nil
	}
	p.turn = func(degrees float64, n int) (*data.Set, error) { return turned(splits.Test, degrees, n) }
	if s.Other == "" {
		return p, nil
	}
	other, err := sets.Lookup(s.Other)
	if err != nil {
		return nil, err
	}
	out, err := other.Images(folder)
	if err != nil {
		return nil, err
	}
	p.other = asSet(out.Test)
	return p, nil
}

// asSet returns images as a set with X uint8 [N,C,H,W] and the labels as the target.
func asSet(s *image.Set) *data.Set {
	y := make([]float64, s.N)
	for i, label := range s.Labels {
		y[i] = float64(label)
	}
	return &data.Set{
		Targets: []string{"label"},
		X:       tensor.New(tensor.WithShape(s.N, s.C, s.H, s.W), tensor.WithBacking(s.Pixels)),
		Y:       tensor.New(tensor.WithShape(s.N, 1), tensor.WithBacking(y)),
	}
}

// cropped returns a fraction of a set: evenly spaced images, and of each a random part that is
// resized to the whole. The fraction 0 means all images. The pretrained networks were trained
// on the validation images, and classify almost all of these images correctly. Parts of the images
// are classified correctly less often. The paper's released runs use parts.
func cropped(s *image.Set, fraction float64) *image.Set {
	n, size := s.N, s.C*s.H*s.W
	if fraction > 0 {
		n = max(1, int(fraction*float64(n)))
	}
	how := augment.Standard(s.H)
	how.Scale = [2]float64{0.5, 1}
	a := augment.New[float64](0, image.Unit, how)
	out := &image.Set{Images: image.Images{N: n, C: s.C, H: s.H, W: s.W}, Classes: s.Classes, Names: s.Names}
	for i := range n {
		row := i * s.N / n
		pixels, _, _ := a.Bytes(s.Pixels[row*size:(row+1)*size], s.H, s.W, row, 0)
		out.Pixels, out.Labels = append(out.Pixels, pixels...), append(out.Labels, s.Labels[row])
	}
	return out
}

// turned returns the first n images of a set, turned by an angle.
func turned(s *image.Set, degrees float64, n int) (_ *data.Set, err error) {
	some := s.Slice(0, min(n, s.N))
	if some.Pixels, err = image.Rotate(some.Pixels, some.H, some.W, degrees); err != nil {
		return nil, err
	}
	return asSet(some), nil
}

// corrupted returns the first n images of a set under a corruption.
func corrupted(ctx context.Context, s *image.Set, kind string, severity, n int) (*data.Set, error) {
	how, err := corrupt.New(kind, severity, 0)
	if err != nil {
		return nil, err
	}
	some := s.Slice(0, min(n, s.N))
	pixels := make([]uint8, len(some.Pixels))
	if err := how.All(ctx, pixels, some.Pixels, some.H, some.W); err != nil {
		return nil, err
	}
	some.Pixels = pixels
	return asSet(some), nil
}
