package bench

import (
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// benchmark is a row of the table.
type benchmark struct {
	name    string                            // the row's label in the table
	group   group                             // the part of the table in which the row stands
	kind    string                            // what the driver calls it
	options map[string]string                 // for the driver
	wanted  float64                           // the largest ratio of our time to theirs that is aimed at
	compare int                               // how many steps in a row must give the same; 0: not compared
	dtypes  []tensor.Dtype                    // the element types that are measured
	new     func(tensor.Dtype) (*work, error) // makes our side of the work
}

// group is a part of the table. Some groups are measured only if a flag asks for them.
type group string

const (
	dense       group = "dense networks"
	rows        group = "single rows"
	rivals      group = "other methods"
	convolution group = "ResNet-20"
	backpack    group = "VaLLA on ResNet-20" // minutes
	laplaces    group = "linearized Laplace" // minutes
	wholeFits   group = "whole fits"
)

var (
	both   = []tensor.Dtype{tensor.Float64, tensor.Float32}
	single = []tensor.Dtype{tensor.Float32}
	wide   = []tensor.Dtype{tensor.Float64}

	year  = layers.MLP{Inputs: 90, Hidden: []int{200, 200, 200}, Outputs: 1, Activation: "tanh"}
	mnist = layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}

	adam, sgd = map[string]string{"optimizer": "adam"}, map[string]string{"optimizer": "sgd"}
)

// batch is the size of mini-batches, and predicted the number of points of a prediction.
const (
	batch     = 100
	predicted = 1000
)

// benchmarks is the table. The wanted ratios are aims of the design.
var benchmarks = []benchmark{
	{"VaLLA step, regression 90-200-200-200-1, M = 100", dense, "step", nil, 1. / 3, 3, both, vallaStep(year, 100, batch, batch)},
	{"VaLLA step, regression 90-200-200-200-1, M = 200", dense, "step", nil, 1. / 3, 3, both, vallaStep(year, 200, batch, batch)},
	{"VaLLA step, classification 784-200-200-10, M = 100", dense, "step", nil, 1. / 3, 3, both, vallaStep(mnist, 100, batch, batch)},
	{"VaLLA step, classification 784-200-200-10, M = 200", dense, "step", nil, 1. / 3, 3, both, vallaStep(mnist, 200, batch, batch)},
	{"predict 1,000 points, regression, M = 100", dense, "predict", nil, 1. / 4, 1, both, vallaPredict(year, 100)},
	{"predict 1,000 points, classification, M = 100", dense, "predict", nil, 1. / 4, 1, both, vallaPredict(mnist, 100)},
	{"predict 1 row, regression, M = 100", rows, "predict", nil, 1. / 10, 1, both, predictOne(services[1])},
	{"predict 1 row, classification, M = 100", rows, "predict", nil, 1. / 10, 1, both, predictOne(services[0])},
	{"FMGP step, 90 inputs, M = 100, batch 100", rivals, "fmgp step", nil, 1. / 3, 3, both, fmgpStep(90, 1, 100, 100)},
	{"FMGP step, 3,072 inputs, C = 10, M = 20, batch 50", rivals, "fmgp step", nil, 1. / 3, 3, both, fmgpStep(3072, 10, 20, 50)},
	{"ELLA fit on 1,000, 784-200-200-10, 100 points", rivals, "ella fit", nil, 1. / 3, 1, wide, ellaFit},
	{"MAP step, 784-200-200-10, Adam", dense, "map", adam, 1, 3, both, mapStep(mnist)},
	{"ResNet-20 forward, batch 100", convolution, "forward", nil, 1, 1, both, resNetForward},
	{"ResNet-20 MAP step, batch 100, SGD", convolution, "map", sgd, 1, 3, both, resNetMAP},
	{"VaLLA step, ResNet-20, M = 10", backpack, "step", nil, 1. / 5, 2, single, resNetStep(10)},
	{"VaLLA step, ResNet-20, M = 100", backpack, "step", nil, 1. / 5, 2, single, resNetStep(100)},
	{"LLA fit on 10,000, diagonal", laplaces, "laplace fit", theirLaplace("all", "diag"), 1. / 2, 0, single, laplaceFit(allDiagonal)},
	{"LLA fit on 10,000, KFAC", laplaces, "laplace fit", theirLaplace("all", "kron"), 1. / 2, 0, single, laplaceFit(allKFAC)},
	{"LLA fit on 10,000, last layer", laplaces, "laplace fit", theirLaplace("last_layer", "full"), 1. / 2, 0, single, laplaceFit(lastLayer)},
	{"LLA predict 1,000, diagonal", laplaces, "laplace predict", theirLaplace("all", "diag"), 1. / 20, 1, single, laplacePredict(allDiagonal)},
	{"LLA predict 1,000, KFAC", laplaces, "laplace predict", theirLaplace("all", "kron"), 1. / 20, 1, single, laplacePredict(allKFAC)},
	{"LLA predict 1,000, last layer", laplaces, "laplace predict", theirLaplace("last_layer", "full"), 1. / 20, 1, single, laplacePredict(lastLayer)},
}

// These members of the Laplace family are compared, with σ₀ = 1.
var (
	allDiagonal = &laplace.Settings{Structure: "diag", PriorStd: 1}
	allKFAC     = &laplace.Settings{Structure: "kfac", PriorStd: 1}
	lastLayer   = &laplace.Settings{Weights: []string{"last-layer"}, PriorStd: 1}
)

// theirLaplace returns the options of a member in the terms of laplace-torch.
func theirLaplace(weights, structure string) map[string]string {
	return map[string]string{"weights": weights, "structure": structure}
}

// minSteps is the smallest number of steps, also of slow work.
const minSteps = 3
