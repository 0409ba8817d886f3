package graph_test

import (
	"github.com/go-valla/valla/graph/graphtest"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
)

func init() { graphtest.RunONNX = onnxtest.RunONNX }
