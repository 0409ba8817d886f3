package layers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// someForms are forms of every kind that this package registers, with the number of
// their parameters counted by hand.
var someForms = []struct {
	form       Form
	parameters int
	text, json string
}{
	{MLP{Inputs: 1, Hidden: []int{50, 50}, Outputs: 1, Activation: "tanh"}, 2*50 + 51*50 + 51,
		"1-50-50-1 tanh", `{"kind":"mlp","inputs":1,"hidden":[50,50],"outputs":1,"activation":"tanh"}`},
	{MLP{Inputs: 2, Outputs: 3}, 9,
		"2-3", `{"kind":"mlp","inputs":2,"hidden":null,"outputs":3,"activation":""}`},
	{CNN{Channels: 1, Height: 12, Width: 10, Filters: []int{3, 4}, Hidden: []int{5}, Outputs: 3, Activation: "relu"}, 3*10 + 4*28 + 5*25 + 3*6,
		"CNN 1×12×10, filters 3-4, dense 5-3 relu",
		`{"kind":"cnn","channels":1,"height":12,"width":10,"filters":[3,4],"hidden":[5],"outputs":3,"activation":"relu"}`},
	{ResNet{Channels: 3, Blocks: []int{1, 2}, Shortcut: Projection, Outputs: 4}, 16*27 + 32 + // conv1
		2*16*16*9 + 64 + // 16 channels
		16*32*9 + 3*32*32*9 + 4*64 + 16*32 + 64 + // 32 channels, with the projection
		4*33,
		"ResNet-8 of blocks 1-2, projection shortcuts, 4 outputs",
		`{"kind":"resnet","channels":3,"blocks":[1,2],"shortcut":"projection","outputs":4}`},
	{SequentialForm{Input: []int{8}, Layers: Layers{
		Images{Channels: 2, Height: 2, Width: 2}, Conv2D{Filters: 3, Kernel: 1}, BatchNorm{}, Activation("relu"),
		Flatten{}, DenseLayer{Name: "fc", Outputs: 2}, Activation("tanh"),
	}}, 6 + 6 + 26,
		"sequential 8: images conv2d batchnorm relu flatten dense … (1 more), 2 outputs",
		`{"kind":"sequential","input":[8],"layers":[{"kind":"images","channels":2,"height":2,"width":2},{"kind":"conv2d","filters":3,"kernel":1},` +
			`{"kind":"batchnorm"},{"kind":"relu"},{"kind":"flatten"},{"kind":"dense","name":"fc","outputs":2},{"kind":"tanh"}]}`},
	{ResNet{Channels: 1, Blocks: []int{1, 1}, Shortcut: Projection, Outputs: 3, Large: true, Bottleneck: true},
		49*64 + 128 + // conv1
			64*64 + 9*64*64 + 2*64*256 + 4*64 + 4*256 + // 64 channels to 256, with the projection
			256*128 + 9*128*128 + 128*512 + 256*512 + 4*128 + 4*512 +
			3*513,
		"ResNet-8 of blocks 1-1, projection shortcuts, 3 outputs",
		`{"kind":"resnet","channels":1,"blocks":[1,1],"shortcut":"projection","outputs":3,"large":true,"bottleneck":true}`},
}

// TestLargeResNets compares the numbers of parameters with the numbers of torchvision's networks.
func TestLargeResNets(t *testing.T) {
	for depth, want := range map[int]int{18: 11_689_512, 34: 21_797_672, 50: 25_557_032, 101: 44_549_160, 152: 60_192_808} {
		f, err := NewLargeResNet(depth, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("ResNet-%d for large images, projection shortcuts, 1000 outputs", depth); f.String() != text {
			t.Errorf("%v, want %s", f, text)
		}
		if n, err := Parameters(f); err != nil || n != want {
			t.Errorf("%v: %d parameters, error %v, want %d", f, n, err, want)
		}
	}
	if _, err := NewLargeResNet(20, 10); err == nil || !strings.Contains(err.Error(), "18, 34, 50, 101 or 152") {
		t.Errorf("20 layers: %v", err)
	}
}

func TestForms(t *testing.T) {
	for _, c := range someForms {
		t.Run(KindOf(c.form), func(t *testing.T) {
			if got := c.form.String(); got != c.text {
				t.Errorf("String %q, want %q", got, c.text)
			}
			p, err := Parameters(c.form)
			if err != nil || p != c.parameters {
				t.Errorf("Parameters %d, error %v, want %d", p, err, c.parameters)
			}
			net, err := Build(c.form, tensor.Float32, newRand(1))
			if err != nil || Count(net) != p {
				t.Errorf("the network has %d parameters, error %v, want %d", Count(net), err, p)
			}
			data, err := MarshalForm(c.form)
			if err != nil || string(data) != c.json {
				t.Fatalf("MarshalForm %s, error %v, want %s", data, err, c.json)
			}
			sameForm(t, data, c.form)
		})
	}
}

// sameForm checks that data is a form that builds the network that want builds.
func sameForm(t *testing.T, data []byte, want Form) {
	t.Helper()
	got, err := UnmarshalForm(data)
	if err != nil {
		t.Fatalf("UnmarshalForm of %s: %v", data, err)
	}
	build := func(f Form) string {
		net, err := Build(f, tensor.Float64, newRand(3))
		if err != nil {
			t.Fatal(err)
		}
		return Fingerprint(net)
	}
	if got.String() != want.String() || build(got) != build(want) {
		t.Errorf("%s became %v, want %v", data, got, want)
	}
}

// The fingerprints belong to networks that these forms built, from the same random numbers,
// before forms were lists of layers. Published results depend on these start values.
func TestFormsKeepTheirStartValues(t *testing.T) {
	want := map[tensor.Dtype][]string{
		tensor.Float32: {"43cf2f201cf97a577a4edf39fcb5f3f8", "72cbc13f47098be263f79625fcccf103",
			"4d5afdacdf588e1eb62dfe1e99830ecd", "ce63ce8ce3f78483a76151467e4c485f"},
		tensor.Float64: {"77dda5829b0beadb39a1615077650b22", "f2c6af43732a7c786b524110cf33eb91",
			"b1fd38fdd74124d76b05cfe28494970d", "3df6b87b07ec6a3531c8818d1fbe4527"},
	}
	pad := ResNet{Channels: 1, Blocks: []int{1, 1, 1}, Shortcut: ZeroPad, Outputs: 2}
	for _, dt := range dtypes {
		for i, f := range []Form{someForms[0].form, someForms[2].form, someForms[3].form, pad} {
			net, err := Build(f, dt, newRand(7))
			if err != nil || Fingerprint(net) != want[dt][i] {
				t.Errorf("%v, %v: fingerprint %s, error %v, want %s", f, dt, Fingerprint(net), err, want[dt][i])
			}
		}
	}
}

func TestInputShapes(t *testing.T) {
	for _, c := range []struct {
		form Form
		want []int
	}{
		{MLP{Inputs: 5}, []int{5}},
		{CNN{Channels: 1, Height: 2, Width: 3}, []int{1, 2, 3}},
		{ResNet{Channels: 4}, []int{4, 32, 32}},
		{ResNet{Channels: 4, Large: true}, []int{4, 224, 224}},
		{ResNet{Channels: 4, Height: 8, Width: 9}, []int{4, 8, 9}},
		{SequentialForm{Input: []int{6, 7}}, []int{6, 7}},
	} {
		if got := c.form.InputShape(); !slices.Equal(got, c.want) {
			t.Errorf("%T: input shape %v, want %v", c.form, got, c.want)
		}
	}
}

// formErrors are forms that Check refuses, with Check's errors.
var formErrors = []struct {
	form Form
	want string
}{
	{nil, "no form"},
	{MLP{Inputs: 1, Hidden: []int{1e9}, Outputs: 1, Activation: "tanh"}, `mlp: layer 1 (dense): with the array "dense1.weight" of shape [1 1000000000] the network has more than 536870912 numbers, 4 GiB in float64`},
	{MLP{Inputs: 1 << 62, Outputs: 1 << 62}, "inputs of shape [4611686018427387904]"},
	{MLP{Inputs: 1, Hidden: []int{1 << 28, 1 << 40}, Outputs: 1, Activation: "tanh"}, "4 GiB"},
	{CNN{Channels: 1, Height: 4, Width: 4, Filters: []int{1 << 62}, Outputs: 1, Activation: "relu"}, "too large"},
	{CNN{Channels: 1, Height: 4, Width: 4, Filters: []int{2}, Hidden: []int{0}, Outputs: 1, Activation: "relu"}, "cnn: layer 5 (dense): 0 outputs, expected at least 1"},
	{CNN{Channels: 1, Height: 1 << 40, Width: 1 << 40, Outputs: 1, Activation: "relu"}, "inputs of shape"},
	{ResNet{Channels: 3, Blocks: []int{1e9}, Shortcut: Projection, Outputs: 1}, "1000000000 blocks in a stage, expected at most 1000"},
	{ResNet{Channels: 3, Blocks: []int{1}, Shortcut: Projection, Outputs: 1, Height: -1}, "inputs of shape [3 -1 32]"},
	{ResNet{Channels: 3, Blocks: []int{1}, Shortcut: "none", Outputs: 1}, `resnet: unknown shortcut "none"; known are "projection" and "zero-pad"`},
	{SequentialForm{Input: []int{2}}, "sequential: there are no layers"},
	{SequentialForm{Layers: Layers{Flatten{}}}, "inputs of shape []"},
	{SequentialForm{Input: []int{2}, Layers: Layers{nil}}, "layer 1 (nothing)"},
	{SequentialForm{Input: []int{2}, Layers: Layers{Activation("swish")}}, `unknown activation "swish"`},
	{SequentialForm{Input: []int{2, 3, 4}, Layers: Layers{DenseLayer{Outputs: 1}}}, "inputs of shape [2 3 4], expected vectors [D] or sequences [T,D]; put the layer flatten before it"},
	{SequentialForm{Input: []int{2, 3, 4}, Layers: Layers{Activation("tanh")}}, "the last layer gives shape [2 3 4], expected a vector of outputs"},
	{SequentialForm{Input: []int{2}, Layers: Layers{DenseLayer{Name: "d", Outputs: 2}, DenseLayer{Name: "d", Outputs: 2}}}, `layer 2 (dense): two arrays are called "d.weight"`},
	{SequentialForm{Input: []int{2}, Layers: Layers{DenseLayer{Name: "../d", Outputs: 2}}}, `the array name "../d.weight"`},
	{SequentialForm{Input: []int{2}, Layers: Layers{ResidualLayer{Inner: Layers{DenseLayer{Outputs: 3}}}}}, "layer 1 (residual): the inner layers give shape [3], the shortcut [2]"},
	{SequentialForm{Input: []int{2}, Layers: Layers{ResidualLayer{Inner: Layers{Flatten{}}, Shortcut: Layers{MaxPool{Size: 1}}}}}, "layer 1 (residual): shortcut: layer 1 (max-pool): inputs of shape [2], expected images"},
	{SequentialForm{Input: []int{2}, Layers: Layers{Images{Channels: 1, Height: 2, Width: 2}}}, "inputs of shape [2] cannot become images of shape [1 2 2]"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{Conv2D{Filters: 1, Kernel: 7}}}, "layer 1 (conv2d): a kernel of [7 7] with padding [0 0] does not fit images of [1 4 4]"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{Conv2D{Filters: 1, Kernel: 1, Padding: 1 << 62}}}, "too large"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{AveragePool{Size: 5}}}, "windows of 5×5 every 5"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{MaxPool{Size: 2, Padding: 2}}}, "padding 2 of windows of size 2, expected from 0 to half of it"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{MaxPool{Size: 2, Stride: -1}}}, "windows of 2×2 every -1"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{ZeroPadShortcut{Channels: 2}}}, "even difference"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{ZeroPadShortcut{Channels: 1 << 40, Stride: 1}}}, "even difference"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{ZeroPadShortcut{Channels: 1<<40 + 1, Stride: 1}}}, "outputs of shape [1099511627777 4 4] for one example"},
	{SequentialForm{Input: []int{1, 4, 4}, Layers: Layers{BatchNorm{Eps: -1}}}, "eps -1"},
}

func TestFormErrors(t *testing.T) {
	for _, c := range formErrors {
		oneLine(t, Check(c.form), "layers: ", c.want)
		_, err := Parameters(c.form)
		oneLine(t, err, c.want)
		if _, err = Build(c.form, tensor.Float32, newRand(1)); err == nil {
			t.Errorf("Build took %v", c.form)
		}
	}
	_, err := MLP{Inputs: 1, Outputs: 1}.New(tensor.Int, newRand(1))
	oneLine(t, err, "mlp: element type int, expected float32 or float64")
}

var jsonErrors = []struct{ data, want string }{
	{``, "form: "}, {`7`, "form: "}, {`null`, `expected a field "kind"`},
	{`{"inputs":1}`, `expected a field "kind", one of cnn, mlp, resnet, sequential`},
	{`{"kind":1}`, `expected a field "kind"`},
	{`{"kind":"rnn"}`, `unknown kind "rnn" of form; known are cnn, mlp, resnet, sequential`},
	{`{"kind":"mlp","inputs":1,"outputs":1,"dropout":0.1}`, `form "mlp": json: unknown field "dropout"`},
	{`{"kind":"mlp","inputs":"1","outputs":1}`, `form "mlp": json: cannot unmarshal string`},
	{`{"kind":"mlp","inputs":1,"outputs":0}`, "every width must be at least 1"},
	{`{"kind":"mlp","inputs":1,"outputs":1} {}`, "form: invalid character"},
	{`{"kind":"sequential","input":[2],"layers":[{"kind":"dens","outputs":1}]}`, `layer 1: unknown kind "dens" of layer; known are attention, average-pool, `},
	{`{"kind":"sequential","input":[2],"layers":[{"kind":"tanh"},{"kind":"relu","slope":1}]}`, `layer 2: layer "relu": json: unknown field "slope"`},
	{`{"kind":"sequential","input":[2],"layers":[{"kind":"dense","outputs":1,"bias":true}]}`, `unknown field "bias"`},
	{`{"kind":"sequential","input":[2],"layers":{}}`, "cannot unmarshal object"},
	{strings.Repeat(`{"kind":"sequential","layers":[`, 40), "nested more than 64 deep"},
}

func TestUnmarshalFormErrors(t *testing.T) {
	for _, c := range jsonErrors {
		f, err := UnmarshalForm([]byte(c.data))
		if f != nil {
			t.Errorf("%s gave %v", c.data, f)
		}
		oneLine(t, err, "layers: ", c.want)
	}
}

// Brackets in strings are not nesting.
func TestNestingOfStrings(t *testing.T) {
	data := fmt.Sprintf(`{"kind":"sequential","input":[2],"layers":[{"kind":"dense","outputs":1,"name":%q}]}`, strings.Repeat(`["`, 100))
	_, err := UnmarshalForm([]byte(data))
	oneLine(t, err, "the array name")
}

func TestMarshalFormErrors(t *testing.T) {
	_, err := MarshalForm(MLP{})
	oneLine(t, err, "every width must be at least 1")
	_, err = MarshalForm(unregistered{MLP{Inputs: 1, Outputs: 1}})
	oneLine(t, err, `unknown kind "layers.unregistered" of form; known are cnn, mlp`)
	_, err = MarshalForm(SequentialForm{Input: []int{2}, Layers: Layers{secret{}}})
	oneLine(t, err, `layer 1: unknown kind "layers.secret" of layer; known are attention, average-pool`)
}

type unregistered struct{ MLP }

type secret struct{}

func (secret) Make(_ *Maker, in []int) (Network, []int, error) { return Flatten{}, in, nil }

func TestRegisterTwicePanics(t *testing.T) {
	for _, register := range []func(){
		func() { Register[MLP]("mlp") }, func() { Register[MLP]("") },
		func() { RegisterLayer[Flatten]("flatten") }, func() { RegisterLayer[Flatten]("tanh") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			register()
		}()
	}
}

func TestKinds(t *testing.T) {
	if got, want := fmt.Sprint(forms.kinds()), "[cnn mlp resnet sequential]"; got != want {
		t.Errorf("forms %s, want %s", got, want)
	}
	for _, kind := range []string{"dense", "conv2d", "batchnorm", "tanh", "max-pool", "residual", "zero-pad"} {
		if !slices.Contains(layerKinds.kinds(), kind) {
			t.Errorf("no layer %q among %q", kind, layerKinds.kinds())
		}
	}
}

// Layers without names are numbered through, also inside residual layers.
func TestNamesOfLayers(t *testing.T) {
	d := DenseLayer{Outputs: 2}
	form := SequentialForm{Input: []int{2}, Layers: Layers{d, ResidualLayer{Inner: Layers{d, Activation("tanh"), d}}, DenseLayer{Name: "out", Outputs: 3}, d}}
	net, err := Build(form, tensor.Float64, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range net.Params() {
		if name, ok := strings.CutSuffix(p.Name, ".weight"); ok {
			names = append(names, name)
		}
	}
	if want := []string{"dense1", "dense2", "dense3", "out", "dense4"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

func FuzzUnmarshalForm(f *testing.F) {
	for _, c := range someForms {
		f.Add([]byte(c.json))
	}
	for _, c := range jsonErrors {
		f.Add([]byte(c.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		form, err := UnmarshalForm(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		again, err := MarshalForm(form)
		if err != nil || !json.Valid(again) {
			t.Fatalf("%v is written as %s, error %v", form, again, err)
		}
		if p, err := Parameters(form); err != nil || p > maxNumbers || p < 0 {
			t.Fatalf("%v has %d parameters, error %v", form, p, err)
		} else if p < 1<<16 {
			if _, err := Build(form, tensor.Float32, rand.New(rand.NewPCG(1, 1))); err != nil {
				t.Fatal(err)
			}
			sameForm(t, again, form)
		}
	})
}
