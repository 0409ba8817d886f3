package onnxruntime

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/go-valla/valla/internal/onnxfile"
)

// Type is ONNX's number of a type of elements.
type Type = onnxfile.Type

// The types of floating-point elements.
const (
	Float  = onnxfile.Float
	Double = onnxfile.Double
)

// Tensor is an array.
type Tensor struct {
	Type  Type  // of the elements
	Shape []int // extents of the axes
	Data  any   // []float32, []float64 or []uint8
}

// memory returns the address and the bytes of the elements, which pin holds where they are.
func (t Tensor) memory(pin *runtime.Pinner) (data, size uintptr) {
	switch v := t.Data.(type) {
	case []float64:
		return pinned(pin, v)
	case []float32:
		return pinned(pin, v)
	case []uint8:
		return pinned(pin, v)
	}
	panic(fmt.Sprintf("onnxruntime: elements %T", t.Data))
}

func pinned[T any](pin *runtime.Pinner, v []T) (data, size uintptr) {
	pin.Pin(&v[0])
	return uintptr(unsafe.Pointer(&v[0])), uintptr(len(v)) * unsafe.Sizeof(v[0])
}
