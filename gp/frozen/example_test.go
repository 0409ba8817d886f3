package frozen_test

import (
	"context"
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// A network max(2x, 0)·3 is cut before its last layer: the features of a row are max(2x, 0).
func Example() {
	dense := func(name string, w float64) layers.Dense {
		return layers.Dense{
			W: graph.NewParam(name+".weight", []float64{w}, tensor.Float64, 1, 1),
			B: graph.NewParam(name+".bias", []float64{0}, tensor.Float64, 1),
		}
	}
	net := layers.Sequential{dense("first", 2), layers.Activation("relu"), dense("last", 3)}
	cut, err := frozen.Before(net, []int{1}, tensor.Float64, layers.LastLayer(net))
	if err != nil {
		log.Fatal(err)
	}
	x := tensor.New(tensor.WithShape(3, 1), tensor.WithBacking([]float64{-1, 1, 4}))
	features, err := cut.Features(context.Background(), x, gp.Run{})
	if err != nil {
		log.Fatal(err)
	}
	whole, err := gp.Predict(context.Background(), cut.Through(gp.Point{Net: cut.Rest, Dtype: tensor.Float64}), x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cut.First(), features.Data(), whole.Mean)
	// Output: last.weight [0 2 8] [0 6 24]
}
