// Command outside trains, fits, saves, loads and predicts with a method, a layer and a form of network that are
// not of the module of valla.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"example.com/outside/parts"
	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/data"
	"gorgonia.org/tensor"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// run works in a folder. The files form.json and model.valla stay there.
func run(ctx context.Context, folder string) error {
	form, file, set := filepath.Join(folder, "form.json"), filepath.Join(folder, "model.valla"), data.Toy(1)
	if err := os.WriteFile(form, []byte(`{"kind": "funnel", "inputs": 1, "widest": 8}`), 0o644); err != nil {
		return err
	}
	m, err := valla.Train(ctx, set, valla.TrainOptions{Network: valla.Network{Form: form}, Training: valla.Training{Iterations: 200}})
	if err != nil {
		return err
	}
	if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &parts.Thrifty{}}); err != nil {
		return err
	}
	if err := m.Save(file); err != nil {
		return err
	}
	again, err := valla.Load(file)
	if err != nil {
		return err
	}
	x := tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{0.5}))
	p, err := m.Predict(ctx, x, valla.PredictOptions{})
	if err != nil {
		return err
	}
	q, err := again.Predict(ctx, x, valla.PredictOptions{})
	if err != nil {
		return err
	}
	e := again.History[1]
	fmt.Printf("%s of %s, trust %v\n", again, again.Form, e.Settings["trust"])
	fmt.Println("the same prediction:", p.Mean[0] == q.Mean[0] && p.Variance[0] == q.Variance[0])
	fmt.Println("compared:", slices.Contains(compare.Names(), "thrifty"))
	return nil
}
