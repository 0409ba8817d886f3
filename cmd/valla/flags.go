package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/layers"
)

// choice is the value of a flag with a name out of a few.
type choice[T comparable] struct {
	value *T
	of    []named[T]
}

type named[T comparable] struct {
	name  string
	value T
}

var _ pflag.Value = choice[int]{}

// String implements pflag.Value.
func (c choice[T]) String() string {
	for _, n := range c.of {
		if c.value != nil && n.value == *c.value {
			return n.name
		}
	}
	return ""
}

// Set implements pflag.Value.
func (c choice[T]) Set(s string) error {
	for _, n := range c.of {
		if n.name == s {
			*c.value = n.value
			return nil
		}
	}
	return fmt.Errorf("expected one of %s", c.names())
}

// Type implements pflag.Value.
func (c choice[T]) Type() string { return "NAME" }

func (c choice[T]) names() string {
	var names []string
	for _, n := range c.of {
		names = append(names, n.name)
	}
	return strings.Join(names, ", ")
}

// add defines the flag; its usage ends with the names.
func (c choice[T]) add(f *pflag.FlagSet, flag, usage string) {
	f.Var(c, flag, usage+": "+c.names())
}

func dtypeFlag(f *pflag.FlagSet, v *tensor.Dtype, usage string) {
	choice[tensor.Dtype]{v, []named[tensor.Dtype]{{"float64", tensor.Float64}, {"float32", tensor.Float32}}}.
		add(f, "dtype", usage)
}

func activationFlag(f *pflag.FlagSet, v *layers.Activation, usage string) {
	var of []named[layers.Activation]
	for _, a := range layers.Activations() {
		of = append(of, named[layers.Activation]{string(a), a})
	}
	choice[layers.Activation]{v, of}.add(f, "activation", usage)
}

func layoutFlag(f *pflag.FlagSet, v *layers.Layout) {
	choice[layers.Layout]{v, []named[layers.Layout]{{"auto", layers.Auto}, {"in-out", layers.InOut}, {"out-in", layers.OutIn}}}.
		add(f, "layout", "with --net-weights: axes of the arrays, out-in being PyTorch's")
}

func initFlag(f *pflag.FlagSet, v *data.KMeansInit) {
	choice[data.KMeansInit]{v, []named[data.KMeansInit]{{"kmeans++", data.KMeansPlusPlus}, {"random-points", data.RandomPoints}}}.
		add(f, "init", "valla: start of the k-means that finds the first inducing points")
}

func optimizerFlag(f *pflag.FlagSet, v *model.Optimizer) {
	var of []named[model.Optimizer]
	for _, o := range []model.Optimizer{model.Natural, model.Adam} {
		of = append(of, named[model.Optimizer]{string(o), o})
	}
	choice[model.Optimizer]{v, of}.add(f, "optimizer", "valla: how the posterior is found")
}

func structureFlag(f *pflag.FlagSet, v *laplace.Structure) {
	var of []named[laplace.Structure]
	for _, s := range []laplace.Structure{laplace.Full, laplace.KFAC, laplace.Diagonal, laplace.LowRank} {
		of = append(of, named[laplace.Structure]{s.String(), s})
	}
	choice[laplace.Structure]{v, of}.add(f, "structure", "lla: of the weights' covariance")
}

func hyperFlag(f *pflag.FlagSet, v *model.Hyper) {
	var of []named[model.Hyper]
	for _, h := range []model.Hyper{model.MarginalLikelihood, model.GridSearch, model.FixedHyper} {
		of = append(of, named[model.Hyper]{string(h), h})
	}
	choice[model.Hyper]{v, of}.add(f, "hyper", "lla: where prior and noise come from")
}

func linkFlag(f *pflag.FlagSet, v *model.Link) {
	choice[model.Link]{v, []named[model.Link]{{string(model.Probit), model.Probit}, {string(model.MonteCarlo), model.MonteCarlo}}}.
		add(f, "link", "of classes: how their probabilities are made")
}

func jsonFlag(f *pflag.FlagSet, v *bool) {
	f.BoolVar(v, "json", false, "print one JSON document")
}

// require marks flags as required. Their names are constants of this package.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// checkOut finds an output that cannot be written now rather than after the work.
func checkOut(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("output %s: %w", path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("output %s: %s is not a folder", path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("output %s: it is a folder, expected a file", path)
	}
	return nil
}
