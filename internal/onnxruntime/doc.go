// Package onnxruntime runs ONNX models by the shared library of ONNX Runtime (https://onnxruntime.ai), through its interface
// for C and without cgo. The library is found when it is first used; nothing here needs it before.
package onnxruntime
