// Package honest holds networks that were trained elsewhere, as far as this program can
// tell: their weights come from files, and the only rows at hand are those that they were
// trained on. Some are overfitted, some trained well and some hardly at all. The package
// measures on rows of their own, which no network and no fit has seen, whether error bars
// help, by which criterion their hyper-parameters are best chosen, and what could be had.
package honest

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// Training is how well a network was trained.
type Training string

// Trainings.
const (
	Over  Training = "over"  // long, until it has memorised its training rows
	Well  Training = "well"  // about as long as is best for held-out rows
	Under Training = "under" // hardly
)

// Network is a network from elsewhere.
type Network struct {
	Name     string   // of the file with the weights
	Training Training // how well the network was trained
	Classes  bool     // classification; otherwise regression
	Shared   bool     // its rows are not part of the program: data sets in the folder shared/data

	hidden     []int                                                  // widths of the hidden layers
	activation string                                                 // of the hidden layers
	iterations int                                                    // of the training
	rate       float64                                                // learning rate; 0 means the default
	rows       func(shared string) (train, test *data.Set, err error) // reads or draws the rows
}

// Networks lists all networks. The weights of each are in testdata, made by [Network.Train].
func Networks() []Network {
	return []Network{
		{Name: "waves-over", Training: Over, rows: waves, hidden: []int{40, 40}, activation: "tanh", iterations: 2000},
		{Name: "waves-well", Training: Well, rows: waves, hidden: []int{40, 40}, activation: "tanh", iterations: 150},
		{Name: "clouds-over", Training: Over, Classes: true, rows: clouds, hidden: []int{30, 30}, activation: "relu", iterations: 6000},
		{Name: "clouds-well", Training: Well, Classes: true, rows: clouds, hidden: []int{30, 30}, activation: "relu", iterations: 60},
		{Name: "boston-over", Training: Over, Shared: true, rows: table("boston", 300), hidden: []int{50, 50}, activation: "relu", iterations: 8000},
		{Name: "concrete-over", Training: Over, Shared: true, rows: table("concrete", 500), hidden: []int{50, 50}, activation: "tanh", iterations: 20000},
		{Name: "kin8nm-over", Training: Over, Shared: true, rows: table("kin8nm", 600), hidden: []int{50, 50}, activation: "relu", iterations: 10000},
		{Name: "energy-well", Training: Well, Shared: true, rows: table("energy", 500), hidden: []int{40}, activation: "tanh", iterations: 3000},
		{Name: "power-well", Training: Well, Shared: true, rows: table("power", 800), hidden: []int{30, 30}, activation: "relu", iterations: 500},
		{Name: "yacht-under", Training: Under, Shared: true, rows: table("yacht", 200), hidden: []int{40}, activation: "tanh", iterations: 60},
		{Name: "digits-over", Training: Over, Classes: true, Shared: true, rows: digits(1500, 0), hidden: []int{32}, activation: "relu", iterations: 8000},
		{Name: "digits-well", Training: Well, Classes: true, Shared: true, rows: digits(1500, 0), hidden: []int{32}, activation: "tanh", iterations: 300},
		{Name: "digits-under", Training: Under, Classes: true, Shared: true, rows: digits(1500, 0), hidden: []int{32}, activation: "relu", iterations: 60},
		{Name: "digits-wrong", Training: Over, Classes: true, Shared: true, rows: digits(1500, 0.15), hidden: []int{64, 64}, activation: "relu", iterations: 8000, rate: 0.003},
	}
}

// Rows returns the rows that the network was trained on and those to judge it by. shared is
// the folder of data sets, for networks that are Shared.
func (n Network) Rows(shared string) (train, test *data.Set, err error) { return n.rows(shared) }

// scaled says whether the network was trained on standardised columns: tables, not images.
func (n Network) scaled(s *data.Set) bool { return s.Features != nil }

// Train trains the network as its weights in testdata were: by Adam, without weight decay,
// on all of its rows.
func (n Network) Train(ctx context.Context, train *data.Set) (*valla.Model, error) {
	rate := n.rate
	if rate == 0 {
		rate = 0.01
	}
	return valla.Train(ctx, train, valla.TrainOptions{
		Classes: n.Classes, Seed: 1,
		Network:  valla.Network{Hidden: n.hidden, Activation: n.activation, Dtype: "float32"},
		Training: valla.Training{Iterations: n.iterations, LearningRate: rate, WeightDecay: new(0.0), Validation: new(0.0)},
	})
}

// Model reads the network from its file in a folder, as a user would who has the weights
// and the rows.
func (n Network) Model(ctx context.Context, folder string, train *data.Set) (*valla.Model, error) {
	return valla.FromWeights(ctx, n.Path(folder), train, valla.WeightOptions{
		Network: valla.Network{Activation: n.activation}, Standardize: n.scaled(train), Classes: n.Classes,
	})
}

// Path is the file of the weights in a folder.
func (n Network) Path(folder string) string { return filepath.Join(folder, n.Name+".npz") }

// Named returns the network of a name.
func Named(name string) (Network, error) {
	for _, n := range Networks() {
		if n.Name == name {
			return n, nil
		}
	}
	return Network{}, fmt.Errorf("network %q is none of those from elsewhere", name)
}
