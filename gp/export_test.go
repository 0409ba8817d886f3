package gp

import "github.com/go-valla/valla/graph"

// RootRows is the root G above the row of divergences, with the derivative of its own.
func RootRows(b *graph.Builder, low, kz *graph.Node) *graph.Node {
	return conditioned(b, low, kz).differentiable(b, low, kz)
}

// RootRowsInSteps is the same with the derivatives of the operations that make it.
func RootRowsInSteps(b *graph.Builder, low, kz *graph.Node) *graph.Node {
	c := conditioned(b, low, kz)
	return b.Concat(0, c.g, c.divergences(b))
}

// Information gives the tests informationByLayer.
var Information = informationByLayer

// LayerInformation gives the tests the type of its results.
type LayerInformation = layerInformation
