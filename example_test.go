package valla_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
)

// A network is trained on data between −4 and 4, and gets error bars: they are wide where
// there were no data.
func Example() {
	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 1000}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &vallagp.Settings{Optimizer: "adam", Inducing: 20, Iterations: 1500}}); err != nil {
		log.Fatal(err)
	}
	x := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{2, 6}))
	p, err := m.Predict(ctx, x, valla.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m)
	fmt.Printf("amid the data: %.2f ± %.2f\n", p.Mean[0], p.Std()[0])
	fmt.Println("wider outside:", p.Std()[1] > 2*p.Std()[0])
	// Output:
	// VaLLA 20
	// amid the data: 1.67 ± 0.25
	// wider outside: true
}

// Error bars for a network that was trained elsewhere: here its weights are written first,
// as PyTorch or NumPy would have written them.
func ExampleFromWeights() {
	dir, err := os.MkdirTemp("", "valla")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "net.npz")
	net, err := layers.MLP{Inputs: 1, Hidden: []int{20}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	if err := layers.Save(path, net); err != nil {
		log.Fatal(err)
	}

	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.FromWeights(ctx, path, set, valla.WeightOptions{Network: valla.Network{Activation: "tanh"}})
	if err != nil {
		log.Fatal(err)
	}
	m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v of a network %v\n", m, m.Form)
	// Output: LLA of a network 1-20-1 tanh
}

// A model is one file: network, scaling, posterior and history.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "valla")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toy.valla")

	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 100}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}}); err != nil {
		log.Fatal(err)
	}
	if err := m.Save(path); err != nil {
		log.Fatal(err)
	}

	again, err := valla.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	a, err := m.Predict(ctx, set.X, valla.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := again.Predict(ctx, set.X, valla.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same variance:", a.Variance[0] == b.Variance[0])
	for _, e := range again.History {
		fmt.Println(e.Action, e.Label, e.Rows, "rows")
	}
	// Output:
	// the same variance: true
	// train MAP 180 rows
	// fit LLA last-layer 180 rows
}

// The settings choose the method: here the linearized Laplace approximation (LLA) with a
// curvature matrix in Kronecker factors and a prior for each layer.
func ExampleModel_Fit() {
	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 100}})
	if err != nil {
		log.Fatal(err)
	}
	m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac", Priors: "per-layer"}})
	if err != nil {
		log.Fatal(err)
	}
	record := m.History[1]
	fmt.Println(m, "with priors of", record.Groups)
	// Output: LLA KFAC with priors of [dense1 dense2 dense3]
}

// Classes are numbers in the data; their probabilities are averaged over the posterior.
func ExampleModel_Predict() {
	rng, n := rand.New(rand.NewPCG(1, 1)), 200
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		if x[i] > 0 {
			y[i] = 1
		}
	}
	set := &data.Set{
		Features: []string{"x"}, X: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(x)),
		Targets: []string{"positive"}, Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y)),
	}
	ctx := context.Background()
	o := valla.TrainOptions{Network: valla.Network{Hidden: []int{10}}, Training: valla.Training{Iterations: 500}, Classes: true}
	m, err := valla.Train(ctx, set, o)
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &vallagp.Settings{Inducing: 10, Iterations: 100}}); err != nil {
		log.Fatal(err)
	}
	p, err := m.Predict(ctx, tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{-1, 1})), valla.PredictOptions{Link: valla.MonteCarlo})
	if err != nil {
		log.Fatal(err)
	}
	for i, best := range p.Best() {
		fmt.Printf("class %g, sure: %t\n", p.Classes[best], p.Probs[2*i+best] > 0.9)
	}
	// Output:
	// class 0, sure: true
	// class 1, sure: true
}

// Rows that arrive later are added to a fitted posterior without another fit. SFR's own mean
// follows their targets; the network stays as it was.
func ExampleModel_Update() {
	ctx, old, later := context.Background(), data.Toy(1), data.Toy(2)
	m, err := valla.Train(ctx, old, valla.TrainOptions{Training: valla.Training{Iterations: 500}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, old, valla.FitOptions{Settings: &sfr.Settings{OwnMean: true}}); err != nil {
		log.Fatal(err)
	}
	updated, err := m.Update(ctx, later, gp.Run{})
	if err != nil {
		log.Fatal(err)
	}
	e := updated.History[len(updated.History)-1]
	fmt.Printf("%v: %s of %d rows\n", updated, e.Action, e.Rows)
	fmt.Printf("their NLL has fallen: %t\n", e.Facts[1].Value < e.Facts[0].Value)
	// Output:
	// SFR 180: update of 200 rows
	// their NLL has fallen: true
}

// Scores of the network alone and with error bars.
func ExampleModel_Evaluate() {
	ctx, set, fresh := context.Background(), data.Toy(1), data.Toy(2)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 500}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{}}); err != nil {
		log.Fatal(err)
	}
	for _, m := range []*valla.Model{m.MAP(), m} {
		s, err := m.Evaluate(ctx, fresh, valla.PredictOptions{})
		if err != nil {
			log.Fatal(err)
		}
		rmse, _ := s.Get("RMSE")
		fmt.Printf("%v: RMSE %.1f on %d rows, NLL below 0.5: %t\n", m, rmse, s.N, s.NLL() < 0.5)
	}
	// Output:
	// MAP: RMSE 0.3 on 200 rows, NLL below 0.5: true
	// LLA: RMSE 0.3 on 200 rows, NLL below 0.5: true
}

// Functions that are drawn from a posterior: how uncertain is the largest value in an interval?
func ExampleModel_Sample() {
	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 500}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{}}); err != nil {
		log.Fatal(err)
	}
	x := tensor.New(tensor.WithShape(21, 1), tensor.WithBacking(tensor.Range(tensor.Float64, 0, 21)))
	f, err := m.Sample(ctx, x, valla.SampleOptions{Samples: 100, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	var largest []float64
	for function := range slices.Chunk(f.Float64s(), 21) {
		largest = append(largest, slices.Max(function))
	}
	slices.Sort(largest)
	fmt.Printf("%v values; the largest of 21 is uncertain: %t\n", f.Shape(), largest[94] > largest[5])
	// Output: (100, 21, 1) values; the largest of 21 is uncertain: true
}

// A service makes one predictor and uses it from all of its goroutines.
func ExampleModel_Predictor() {
	ctx, set := context.Background(), data.Toy(1)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 100}})
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}}); err != nil {
		log.Fatal(err)
	}
	p, err := m.Predictor(valla.PredictorOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var out valla.Prediction // its memory is used again
	for _, x := range []float64{-1, 0, 1} {
		if err := p.Predict(ctx, []float64{x}, &out); err != nil {
			log.Fatal(err)
		}
		fmt.Println(out.N(), "row, error bar above 0:", out.Std()[0] > 0)
	}
	// Output:
	// 1 row, error bar above 0: true
	// 1 row, error bar above 0: true
	// 1 row, error bar above 0: true
}
