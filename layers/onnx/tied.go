package onnx

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// foldedPrefix begins the names that the exporter of PyTorch gives to constants that it has computed. It transposes the weights of a linear
// layer on sequences once for each use.
const foldedPrefix = "onnx::"

// tie makes the copies of one matrix one parameter again: a layer that is used several times is one layer, and the
// weights of a head may be the weights of an embedding. Trained matrices of different layers are not equal; layers that were not
// trained may be, but have biases of their own.
func (r *reader) tie() {
	first, same, transposed := map[string]string{}, map[string]string{}, map[string]string{} // names by contents
	var copies []string
	shapes := map[[2]int]bool{} // of the copies
	for _, name := range r.order {
		if t := r.weights[name]; len(t.Shape) == 2 && strings.HasPrefix(name, foldedPrefix) && !t.plain() {
			copies, shapes[[2]int(t.Shape)] = append(copies, name), true
		}
	}
	for _, name := range r.order {
		t := r.weights[name]
		if len(t.Shape) != 2 || strings.HasPrefix(name, foldedPrefix) {
			continue
		}
		if shapes[[2]int(t.Shape)] {
			same[contents(t)] = name
		}
		if shapes[[2]int{t.Shape[1], t.Shape[0]}] {
			transposed[contents(t.transposed())] = name
		}
	}
	for _, name := range copies {
		own := contents(r.weights[name])
		key := own + r.biasAfter(name)
		if of, ok := transposed[own]; ok {
			r.replace(name, "")
			r.Nodes = slices.Insert(r.Nodes, 0, Node{Op: "Transpose", Name: name, Inputs: []string{of}, Outputs: []string{name}})
		} else if of := cmp.Or(same[own], first[key]); of != "" {
			r.replace(name, of)
		} else {
			first[key] = name
		}
	}
}

// replace leaves out an array, and has nodes read another one in its place, unless that has no name.
func (r *reader) replace(name, other string) {
	delete(r.weights, name)
	r.order = slices.DeleteFunc(r.order, func(n string) bool { return n == name })
	for _, n := range r.Nodes {
		for i, input := range n.Inputs {
			if input == name && other != "" {
				n.Inputs[i] = other
			}
		}
	}
}

// biasAfter returns the name of the array that is added to the product with a matrix; "" if there is none.
func (r *reader) biasAfter(matrix string) string {
	for _, n := range r.Nodes {
		if n.Op != "MatMul" || len(n.Inputs) != 2 || n.Inputs[1] != matrix {
			continue
		}
		for _, next := range r.Nodes {
			if next.Op != "Add" || !slices.Contains(next.Inputs, n.Outputs[0]) {
				continue
			}
			for _, input := range next.Inputs {
				if r.weights[input] != nil {
					return input
				}
			}
		}
	}
	return ""
}

// contents is a text by which matrices are equal: their type, shape and elements.
func contents(t *Tensor) string {
	return fmt.Sprintf("%s %v %x ", t.Type, t.Shape, sha256.Sum256(t.Data))
}

// transposed returns a matrix with its axes exchanged.
func (t *Tensor) transposed() *Tensor {
	n, m, size := t.Shape[0], t.Shape[1], t.Type.Size()
	out := &Tensor{Type: t.Type, Shape: []int{m, n}, Data: make([]byte, 0, len(t.Data))}
	for j := range m {
		for i := range n {
			at := (i*m + j) * size
			out.Data = append(out.Data, t.Data[at:at+size]...)
		}
	}
	return out
}

// plain says whether all elements of a matrix are equal, or all outside the diagonal, so that nothing was trained.
func (t *Tensor) plain() bool {
	m, size := t.Shape[1], t.Type.Size()
	other := t.Data[min(1, m-1)*size:]
	if len(other) == 0 {
		return true
	}
	for i := range len(t.Data) / size {
		if diagonal := i/m == i%m; !diagonal && !bytes.Equal(t.Data[i*size:(i+1)*size], other[:size]) {
			return false
		}
	}
	return true
}
