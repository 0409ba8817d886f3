// Package onnxfile writes ONNX models: a list of nodes, the arrays that they take, and a description
// of inputs and outputs, as protocol buffers (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
// The numbers of fields are the numbers of that description, version 8 of the format (IR).
package onnxfile
