package task

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/internal/fixture"
)

var oneLine, near = fixture.OneLine, fixture.Near

func denseOf[T float | uint8 | int](v []T, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

func apply(t testing.TB, in Inputs, x *tensor.Dense, dt tensor.Dtype) *tensor.Dense {
	t.Helper()
	out, err := in.Apply(x, dt)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The bits equal those of (x − Mean)/Std in float64, rounded once for float32.
func TestApplyIsTheStandardizer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 20).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "d")
		v := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n*d, n*d).Draw(t, "x")
		set := &data.Set{X: denseOf(v, n, d)}
		for i := range d {
			set.Features = append(set.Features, fmt.Sprint("f", i))
		}
		in, err := Standardized(set)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Check(); err != nil || !slices.Equal(in.Shape, []int{d}) {
			t.Fatalf("%+v: %v", in, err)
		}
		want, narrow, want32 := make([]float64, n*d), make([]float32, n*d), make([]float32, n*d)
		for i, x := range v {
			want[i], narrow[i] = (x-in.Mean[i%d])/in.Std[i%d], float32(x)
			want32[i] = float32((float64(narrow[i]) - in.Mean[i%d]) / in.Std[i%d])
		}
		got, err := in.Apply(set.X, tensor.Float64)
		if err != nil || !slices.Equal(got.Float64s(), want) || !slices.Equal(got.Shape(), []int{n, d}) {
			t.Fatalf("float64: %v, want %v, error %v", got, want, err)
		}
		in32, err := in.Apply(denseOf(narrow, n, d), tensor.Float32)
		if err != nil || !slices.Equal(in32.Float32s(), want32) {
			t.Fatalf("float32: %v, want %v, error %v", in32, want32, err)
		}
	})
}

// randomImages are n images of channels c.
func randomImages(n, c, h, w int) *image.Images {
	rng := rand.New(rand.NewPCG(1, 2))
	im := &image.Images{N: n, C: c, H: h, W: w, Pixels: make([]uint8, n*c*h*w)}
	for i := range im.Pixels {
		im.Pixels[i] = uint8(rng.IntN(256))
	}
	return im
}

// The bits equal image.Table's bits, as pretrained networks for CIFAR-10 expect them.
func TestApplyIsTheTableOfImages(t *testing.T) {
	im := randomImages(5, 3, 32, 32)
	x := denseOf(slices.Clone(im.Pixels), 5, 3, 32, 32)
	for name, norm := range map[string]image.Normalize{"chenyaofo": cifar.Chenyaofo, "akamaster": cifar.Akamaster, "unit": image.Unit} {
		in := Inputs{Shape: []int{3, 32, 32}, Mean: norm.Mean[:], Std: norm.Std[:]}
		if err := in.Check(); err != nil {
			t.Fatal(err)
		}
		if got, want := apply(t, in, x, tensor.Float64), cifar.Dense(im, image.NewTable[float64](norm)); !slices.Equal(got.Float64s(), want.Float64s()) || !slices.Equal(got.Shape(), want.Shape()) {
			t.Errorf("%s, float64: other values", name)
		}
		if got, want := apply(t, in, x, tensor.Float32), cifar.Dense(im, image.NewTable[float32](norm)); !slices.Equal(got.Float32s(), want.Float32s()) {
			t.Errorf("%s, float32: other values", name)
		}
	}
	// Without moments the values equal Unit's values.
	a, b := apply(t, Inputs{Shape: []int{3, 32, 32}}, x, tensor.Float32), cifar.Dense(im, image.NewTable[float32](image.Unit))
	if !slices.Equal(a.Float32s(), b.Float32s()) {
		t.Error("without moments: other values")
	}
}

// The bits equal the bits of idx.Dense, which makes [784] of [28,28].
func TestApplyIsThatOfMNIST(t *testing.T) {
	im, in := randomImages(4, 1, 28, 28), Inputs{Shape: []int{784}}
	for _, shape := range [][]int{{4, 28, 28}, {4, 1, 28, 28}, {4, 784}} {
		x := denseOf(slices.Clone(im.Pixels), shape...)
		if got, want := apply(t, in, x, tensor.Float64), idx.Dense[float64](im); !slices.Equal(got.Float64s(), want.Float64s()) || !slices.Equal(got.Shape(), want.Shape()) {
			t.Errorf("%v, float64: other values of shape %v", shape, got.Shape())
		}
		if got, want := apply(t, in, x, tensor.Float32), idx.Dense[float32](im); !slices.Equal(got.Float32s(), want.Float32s()) {
			t.Errorf("%v, float32: other values", shape)
		}
	}
}

func TestApplyByHand(t *testing.T) {
	channels := Inputs{Shape: []int{2, 1, 2}, Mean: []float64{1, 10}, Std: []float64{2, 4}}
	columns := Inputs{Shape: []int{2}, Mean: []float64{1, 10}, Std: []float64{2, 4}}
	for _, c := range []struct {
		in   Inputs
		x    *tensor.Dense
		want []float64
	}{
		{channels, denseOf([]float64{1, 3, 10, 2, 0, 0, 0, 0}, 2, 2, 1, 2), []float64{0, 1, 0, -2, -0.5, -0.5, -2.5, -2.5}},
		{channels, denseOf([]float32{1, 3, 10, 2}, 1, 4), []float64{0, 1, 0, -2}},
		{columns, denseOf([]float64{1, 10, 3, 2}, 2, 2), []float64{0, 0, 1, -2}},
		{columns, denseOf([]uint8{255, 0, 51, 255}, 2, 2), []float64{0, -2.5, -0.4, -2.25}},
		{Inputs{Shape: []int{1}}, denseOf([]float64{3, 4}, 2), []float64{3, 4}},
		{Inputs{Shape: []int{1}}, denseOf([]float64{3}, 1, 1), []float64{3}},
		{Inputs{Shape: []int{2}}, denseOf([]float32{3, 4}, 1, 2), []float64{3, 4}},
	} {
		got := apply(t, c.in, c.x, tensor.Float64)
		for i, v := range got.Float64s() {
			near(t, fmt.Sprintf("%v, element %d", c.x.Shape(), i), v, c.want[i], 1e-15)
		}
		if got.Shape()[0]*tensor.Shape(c.in.Shape).TotalSize() != len(c.want) || !slices.Equal(got.Shape()[1:], c.in.Shape) {
			t.Errorf("%v became %v", c.x.Shape(), got.Shape())
		}
	}
}

// The inputs that are given stay as they are.
func TestApplyKeepsItsInput(t *testing.T) {
	x := denseOf([]float64{1, 2}, 1, 2)
	out := apply(t, Inputs{Shape: []int{2}}, x, tensor.Float64)
	out.Float64s()[0] = 7
	if x.Float64s()[0] != 1 {
		t.Error("the result shares the memory of the input")
	}
}

func TestApplyErrors(t *testing.T) {
	table := Inputs{Features: []string{"a", "b"}, Shape: []int{2}, Mean: []float64{0, 0}, Std: []float64{1, 2}}
	images := Inputs{Shape: []int{1, 2, 2}}
	transposed := denseOf([]float64{1, 2, 3, 4}, 2, 2)
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   Inputs
		x    *tensor.Dense
		want []string
	}{
		{table, denseOf([]float64{1, 2, 3, math.Inf(1)}, 2, 2), []string{"row 1 (counting from 0)", `feature "b"`, "expected a finite number, found +Inf"}},
		{table, denseOf([]float32{float32(math.NaN()), 2}, 1, 2), []string{"row 0", `feature "a"`, "found NaN"}},
		{Inputs{Shape: []int{2}, Mean: []float64{0, 0}, Std: []float64{1, 1e-200}}, denseOf([]float64{1, 1e200}, 1, 2),
			[]string{"example 0 (counting from 0), element 1: 1e+200 is out of range for a network in float"}},
		{images, denseOf([]float64{1, 2, 3, 4, 5, 6, math.NaN(), 8}, 2, 1, 2, 2), []string{"example 1 (counting from 0), element 2", "found NaN"}},
		{table, denseOf([]float64{1, 2, 3}, 1, 3), []string{"inputs of shape (1, 3), expected [N] examples of shape [2]"}},
		{table, denseOf([]float64{1, 2}, 2), []string{"inputs of shape (2), expected [N] examples of shape [2]"}},
		{images, denseOf([]uint8{1, 2, 3}, 1, 3), []string{"inputs of shape (1, 3), expected [N] examples of shape [1 2 2]"}},
		{table, denseOf([]int{1, 2}, 1, 2), []string{"inputs are int, expected float64, float32 or uint8"}},
		{table, transposed, []string{"row-major"}},
		{table, nil, []string{"expected an array"}},
		{Inputs{Shape: []int{1}}, tensor.New(tensor.FromScalar(2.0)), []string{"expected an array"}},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			out, err := c.in.Apply(c.x, dt)
			if oneLine(t, err, c.want...); out != nil {
				t.Errorf("%v came with the error %v", out, err)
			}
		}
	}
	// A number that float32 does not have is no number of the network.
	_, err := Inputs{Shape: []int{1}}.Apply(denseOf([]float64{1e39}, 1, 1), tensor.Float32)
	oneLine(t, err, "1e+39 is out of range for a network in float32")
}

// Axes of one element and flat examples are the same numbers in the same order. Channels in another place are not.
func TestInputsTakes(t *testing.T) {
	for _, c := range []struct {
		shape, example []int
		want           bool
	}{
		{[]int{3, 8, 8}, []int{3, 8, 8}, true}, {[]int{3, 8, 8}, []int{192}, true}, {[]int{192}, []int{3, 8, 8}, true},
		{[]int{1, 8, 8}, []int{8, 8}, true}, {[]int{1, 8, 8}, []int{8, 8, 1}, true}, {[]int{1}, nil, true}, {[]int{2}, nil, false},
		{[]int{3, 8, 8}, []int{8, 8, 3}, false}, {[]int{3, 8, 8}, []int{3, 4, 16}, false}, {[]int{3, 8, 8}, []int{2, 96}, false}, {[]int{2}, []int{3}, false},
	} {
		in := Inputs{Shape: c.shape}
		_, err := in.Apply(tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(append([]int{2}, c.example...)...)), tensor.Float64)
		if in.Takes(c.example) != c.want || (err == nil) != c.want {
			t.Errorf("examples of shape %v as inputs of shape %v: taken %v, error %v", c.example, c.shape, in.Takes(c.example), err)
		}
	}
}

func TestInputsCheck(t *testing.T) {
	for want, in := range map[string]Inputs{
		"inputs of shape []":                       {},
		"inputs of shape [2 0]":                    {Shape: []int{2, 0}},
		"with 1 names of features":                 {Shape: []int{2}, Features: []string{"a"}},
		"shape [1 2] with 2 names":                 {Shape: []int{1, 2}, Features: []string{"a", "b"}},
		"1 means and 2 standard deviations":        {Shape: []int{2}, Mean: []float64{1}, Std: []float64{1, 2}},
		"0 means and 2 standard":                   {Shape: []int{2}, Std: []float64{1, 2}},
		"2 means and 2 standard deviations, expec": {Shape: []int{3, 2, 2}, Mean: []float64{1, 2}, Std: []float64{1, 2}},
		"column 1: mean 2, standard deviation -1":  {Shape: []int{2}, Mean: []float64{1, 2}, Std: []float64{1, -1}},
		"column 0: mean NaN":                       {Shape: []int{1}, Mean: []float64{math.NaN()}, Std: []float64{1}},
		"standard deviation +Inf":                  {Shape: []int{1}, Mean: []float64{0}, Std: []float64{math.Inf(1)}},
	} {
		oneLine(t, in.Check(), "inputs", want)
	}
	for _, in := range []Inputs{
		{Shape: []int{3}}, {Shape: []int{3, 2, 2}, Mean: []float64{1, 2, 3}, Std: []float64{1, 2, 3}}, {Shape: []int{1}, Features: []string{"a"}},
	} {
		if err := in.Check(); err != nil {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestStandardizedErrors(t *testing.T) {
	_, err := Standardized(&data.Set{Features: []string{"a"}, X: denseOf([]float64{math.MaxFloat64, math.MaxFloat64, 0}, 3, 1)})
	oneLine(t, err, "standardize: column 0")
	_, err = Standardized(&data.Set{X: denseOf([]uint8{1, 2}, 2, 1)})
	oneLine(t, err, "standardize")
}

// TestWholeInputs: a number that is not whole is an error in the places of whole numbers alone.
func TestWholeInputs(t *testing.T) {
	in := Inputs{Features: []string{"a", "b"}, Shape: []int{2}, Whole: []bool{false, true}}
	apply(t, in, denseOf([]float64{0.5, -3, 1e6, 2}, 2, 2), tensor.Float32)
	bad := denseOf([]float64{0.5, 3, 1, 3.4}, 2, 2)
	_, err := in.From(10).Apply(bad, tensor.Float64)
	oneLine(t, err, `row 11 (counting from 0), feature "b": expected a whole number, as the network takes it, found 3.4`)
	oneLine(t, in.Scale(make([]float64, 4), bad.Float64s(), tensor.Float32), `row 1 (counting from 0), feature "b"`, "found 3.4")
	in.Mean, in.Std = []float64{0, 1}, []float64{1, 2} // the network takes other numbers then
	apply(t, in, bad, tensor.Float64)
}
