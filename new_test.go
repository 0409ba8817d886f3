package valla

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// ownLoop returns the parts of a model whose network a loop of one's own has trained on wave(60, 1).
func ownLoop(t *testing.T) (layers.Form, layers.Sequential, task.Task) {
	t.Helper()
	set := wave(60, 1)
	inputs, err := task.Standardized(set)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := task.StandardizedTargets(set)
	if err != nil {
		t.Fatal(err)
	}
	outputs.NoiseVariance = 0.02
	of := task.Task{Inputs: inputs, Outputs: outputs}
	e, err := of.Examples(set, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	form := layers.MLP{Inputs: 2, Hidden: []int{4}, Outputs: 1, Activation: "tanh"}
	net, err := form.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	loop := train.MAP{Net: net, Loss: train.SquaredError, BatchSize: 20, Config: train.Config{Iterations: 300, Optimizer: &train.Adam{LR: 0.01}}}
	if _, err := loop.Train(t.Context(), train.Rows{All: e.X}, e.Y); err != nil {
		t.Fatal(err)
	}
	return form, net, of
}

// A network of a loop of one's own predicts as it does by itself, gets a posterior, and survives a file.
func TestNew(t *testing.T) {
	form, net, of := ownLoop(t)
	m, err := New(form, net, of)
	if err != nil {
		t.Fatal(err)
	}
	set := wave(60, 1)
	e, err := of.Examples(set, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.outputs(t.Context(), e.X)
	if err != nil {
		t.Fatal(err)
	}
	r, mean := of.Outputs.(*task.Regression), predict(t, m, set.X).Mean
	for i := range mean {
		near(t, "mean", mean[i], r.Mean[0]+r.Std[0]*out[i], 1e-12)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}})
	if !slices.Equal(predict(t, f, set.X).Mean, mean) || !f.History[1].Verdict.Pseudo || f.History[0].Action != ActionWeights {
		t.Errorf("history %+v", f.History)
	}
	if again := loaded(t, written(t, f)); !slices.Equal(numbers(predict(t, again, set.X)), numbers(predict(t, f, set.X))) {
		t.Error("other predictions after a file")
	}
}

func TestNewErrors(t *testing.T) {
	form, net, of := ownLoop(t)
	for want, spoil := range map[string]func() (layers.Form, layers.Sequential, task.Task){
		"new: no form":    func() (layers.Form, layers.Sequential, task.Task) { return nil, net, of },
		"new: no outputs": func() (layers.Form, layers.Sequential, task.Task) { return form, net, task.Task{Inputs: of.Inputs} },
		"new: the network takes examples of shape [3]": func() (layers.Form, layers.Sequential, task.Task) {
			return layers.MLP{Inputs: 3, Outputs: 1}, net, of
		},
		"new: the network's arrays are not those of its form": func() (layers.Form, layers.Sequential, task.Task) {
			return layers.MLP{Inputs: 2, Hidden: []int{5}, Outputs: 1, Activation: "tanh"}, net, of
		},
		"new: a network without parameters": func() (layers.Form, layers.Sequential, task.Task) { return form, nil, of },
	} {
		m, err := New(spoil())
		oneLine(t, err, want)
		if m != nil {
			t.Errorf("%s: model %v", want, m)
		}
	}
	net.Params()[0].Value.Float64s()[1] = math.NaN()
	_, err := New(form, net, of)
	oneLine(t, err, "new: dense1.weight[1] is NaN, expected a finite number")
}

// A form of one's own gives the network that a file with this form gives.
func TestOwnForm(t *testing.T) {
	o, set := quickTrain(), wave(60, 1)
	o.Training.Iterations = 50
	named, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Network = Network{Own: named.Form}
	given, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if given.fingerprint() != named.fingerprint() || given.History[0].Settings["form"] != nil {
		t.Errorf("another network: settings %v", given.History[0].Settings)
	}
	path := written(t, given)
	if loaded(t, path).fingerprint() != given.fingerprint() {
		t.Error("another network after a file")
	}
	o.Network.Form = "mlp"
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, `train: `, `form "mlp" beside a form of one's own, expected one of the two`)
	o.Network = Network{Own: named.Form, Hidden: []int{3}}
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, "train: ", "hidden for a network of the form own")
	o.Network = Network{Own: layers.MLP{Inputs: 5, Outputs: 1}}
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, "train: the network takes 5 inputs, the data have 2")
}

// Weights whose residuals are so large that the type of the network cannot hold the noise variance are refused.
func TestNoiseThatIsTooLarge(t *testing.T) {
	for size, refused := range map[float32]bool{1e15: false, 1e20: true, 3e38: true} {
		net, err := layers.MLP{Inputs: 2, Outputs: 1}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range net.Params()[0].Value.Float32s() {
			net.Params()[0].Value.Float32s()[i] = size
		}
		path := filepath.Join(t.TempDir(), "n.npz")
		if err := layers.Save(path, net); err != nil {
			t.Fatal(err)
		}
		_, err = FromWeights(t.Context(), path, wave(20, 1), WeightOptions{Standardize: true, Network: Network{Dtype: "float32"}})
		if !refused && err != nil {
			t.Errorf("weights of %g: error %v", size, err)
		} else if refused {
			oneLine(t, err, path, "the mean squared residual is ", "expected a positive number that a float32 can hold to take for the noise variance")
		}
	}
}

// TestProbabilitiesAreNoLogits: a network whose outputs are probabilities of classes is refused.
func TestProbabilitiesAreNoLogits(t *testing.T) {
	for bias, refused := range map[[3]float64]bool{{0.2, 0.3, 0.5}: true, {0.2, 0.3, 0.6}: false, {-0.2, 0.7, 0.5}: false} {
		net, err := layers.MLP{Inputs: 2, Outputs: 3}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range net.Params() {
			clear(p.Value.Float64s())
		}
		copy(net.Params()[1].Value.Float64s(), bias[:])
		path := filepath.Join(t.TempDir(), "n.npz")
		if err := layers.Save(path, net); err != nil {
			t.Fatal(err)
		}
		_, err = FromWeights(t.Context(), path, thirds(9, 1), WeightOptions{Classes: true})
		if !refused && err != nil {
			t.Errorf("outputs %v: error %v", bias, err)
		} else if refused {
			oneLine(t, err, path, "the outputs of the network are probabilities", "expected logits")
		}
	}
}
