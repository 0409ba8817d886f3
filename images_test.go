package valla

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp/task"
)

// pictures are n images of bytes [n,3,h,w] with labels 0 and 1.
func pictures(n, h, w int) *data.Set {
	pixels, labels := make([]uint8, n*3*h*w), make([]float64, n)
	for i := range pixels {
		pixels[i] = uint8(i*7 + i*i/5)
	}
	for i := range labels {
		labels[i] = float64(i % 2)
	}
	return &data.Set{Targets: []string{"label"}, X: tensor.New(tensor.WithShape(n, 3, h, w), tensor.WithBacking(pixels)), Y: denseOf(labels, n, 1)}
}

func augmentedTrain() TrainOptions {
	return TrainOptions{
		Network:  Network{Form: "cnn", Filters: []int{2}, Hidden: []int{}, Dtype: "float32", Mean: []float64{0.5, 0.4, 0.3}, Std: []float64{0.2, 0.3, 0.4}},
		Training: Training{Iterations: 30, BatchSize: 4, Validation: new(0.25), ValidateEvery: 10, Augment: true}, Classes: true,
	}
}

// What the source gives depends on the iteration, the row and the seed alone, and images
// that were neither moved nor mirrored are those that the task gives.
func TestAugmentedSource(t *testing.T) {
	set := pictures(6, 8, 10)
	in := task.Inputs{Shape: []int{3, 8, 10}, Mean: []float64{0.5, 0.4, 0.3}, Std: []float64{0.2, 0.3, 0.4}}
	a, same, other := newAugmented[float32](set.X, in, 1), newAugmented[float32](set.X, in, 1), newAugmented[float32](set.X, in, 2)
	load := func(s *augmented[float32], iteration int, rows ...int) []float32 {
		dst := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(len(rows), 3, 8, 10))
		if err := s.Load(dst, rows, iteration); err != nil {
			t.Fatal(err)
		}
		return dst.Float32s()
	}
	first := load(a, 3, 0, 5)
	load(a, 4, 1, 2)
	if !slices.Equal(load(a, 3, 0, 5), first) || !slices.Equal(load(same, 3, 0, 5), first) || !slices.Equal(load(same, 3, 5)[:240], first[240:]) {
		t.Error("the same iteration has other images")
	}
	if slices.Equal(load(a, 4, 0, 5), first) || slices.Equal(load(other, 3, 0, 5), first) {
		t.Error("another iteration or seed has the same images")
	}
	if a.Identity() == other.Identity() || a.Identity() != same.Identity() || !slices.Equal(a.Shape(), []int{6, 3, 8, 10}) {
		t.Errorf("identity %q, %q", a.Identity(), other.Identity())
	}
	plain, err := in.Apply(set.X, tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for iteration := range 2000 {
		found = found || slices.Equal(load(a, iteration, 2), plain.Float32s()[480:720])
	}
	if !found {
		t.Error("no image of 2000 stayed as it is")
	}
}

// CIFAR's images are changed as the network's authors have it.
func TestAugmentedSourceOfCIFAR(t *testing.T) {
	set, in := pictures(2, 32, 32), task.Inputs{Shape: []int{3, 32, 32}}
	a, want := newAugmented[float64](set.X, in, 9), augment.New[float64](9, image.Unit, augment.CIFAR()...)
	dst, other := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3, 32, 32)), make([]float64, 2*3*32*32)
	if err := a.Load(dst, []int{1, 0}, 5); err != nil {
		t.Fatal(err)
	}
	want.Batch(other, set.X.Uint8s(), 32, 32, []int{1, 0}, 5)
	if !slices.Equal(dst.Float64s(), other) {
		t.Error("other images than augment.CIFAR's")
	}
}

func TestAugmentedTrainingResumesBitForBit(t *testing.T) {
	for _, dt := range []string{"float32", "float64"} {
		set, o := pictures(16, 8, 8), augmentedTrain()
		o.Network.Dtype = dt
		whole, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Training.Augment = false
		still, err := Train(t.Context(), set, o)
		if err != nil || still.fingerprint() == whole.fingerprint() {
			t.Errorf("augmented or not, the weights are the same; error %v", err)
		}
		o.Training.Augment, o.Checkpoint, o.Resume = true, filepath.Join(t.TempDir(), "c.zip"), true
		part, err := Train(&endsAfter{t.Context(), 20}, set, o)
		if err == nil || part.History[0].Result.Iterations == 0 || part.History[0].Result.Iterations == 30 {
			t.Fatalf("model %v, error %v", part, err)
		}
		resumed, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		if resumed.fingerprint() != whole.fingerprint() {
			t.Error("another network after the resumed run")
		}
		comesBack(t, fit(t, resumed, set, FitOptions{Settings: methodCases[0].s}), set.X)
		o.Training.Augment = false
		_, err = Train(t.Context(), set, o)
		oneLine(t, err, "checkpoint")
	}
}

func TestAugmentErrors(t *testing.T) {
	grey := pictures(8, 8, 8)
	grey.X = tensor.New(tensor.WithShape(8, 1, 8, 8), tensor.WithBacking(make([]uint8, 512)))
	numbers := pictures(8, 8, 8)
	numbers.X = denseOf(make([]float64, 8*3*8*8), 8, 3, 8, 8)
	for _, c := range []struct {
		set   *data.Set
		spoil func(*Network)
		want  string
	}{
		{grey, func(n *Network) { n.Mean, n.Std = nil, nil }, "augment: inputs are uint8 of shape (6, 1, 8, 8), expected images uint8 [N,3,H,W]"},
		{numbers, func(*Network) {}, "augment: inputs are float64"},
		{pictures(8, 8, 8), func(n *Network) { *n = Network{} }, "augment: the network takes examples of shape [192], expected images (3, 8, 8)"},
	} {
		o := augmentedTrain()
		c.spoil(&o.Network)
		m, err := Train(t.Context(), c.set, o)
		if oneLine(t, err, "train: ", c.want); m != nil || !errors.Is(err, ErrSetting) {
			t.Errorf("model %v, error %v", m, err)
		}
	}
}
