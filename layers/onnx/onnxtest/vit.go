package onnxtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers/onnx"
)

// Vision is the form of a vision transformer (Dosovitskiy and others 2021, "An image is worth 16x16 words"). ViT-tiny
// has images of 224, patches of 16, the width 192, 12 blocks and 3 heads: 5.5 million weights and 1,000 outputs.
type Vision struct {
	Image, Patch         int // rows and columns of the images [3,Image,Image] and of a patch
	Width, Blocks, Heads int // elements of a token, blocks, and heads of each
	Outputs              int // number of outputs
}

// ViT returns the graph that PyTorch exports of a vision transformer, under the names of its state dictionary.
func ViT(v Vision) onnx.Graph {
	w := &writer{Graph: onnx.Graph{Opset: 20, Input: "x"}}
	side, e := v.Image/v.Patch, int64(v.Width)
	tokens := side*side + 1
	x := w.node("Conv", window(v.Patch, v.Patch, 0), w.Input, w.array("patch_embed.proj.weight", false, v.Width, 3, v.Patch, v.Patch), w.array("patch_embed.proj.bias", false, v.Width))
	x = w.node("Reshape", nil, x, w.whole(0, e, -1))
	x = w.node("Transpose", turned(0, 2, 1), x)
	batch := w.node("Slice", nil, w.node("Shape", nil, w.Input), w.whole(0), w.whole(1))
	full := w.node("Concat", along(0), batch, w.whole(1, e))
	x = w.node("Concat", along(1), w.node("Expand", nil, w.array("cls_token", false, 1, 1, v.Width), full), x)
	x = w.node("Add", nil, x, w.array("pos_embed", false, 1, tokens, v.Width))
	for i := range v.Blocks {
		x = w.block(v, fmt.Sprintf("blocks.%d.", i), x)
	}
	x = w.node("Gather", along(1), w.normed(x, "norm", v.Width), w.number(0))
	w.Output = w.node("Gemm", map[string]onnx.Attribute{"alpha": {Float: 1}, "beta": {Float: 1}, "transB": {Int: 1}}, x,
		w.array("head.weight", false, v.Outputs, v.Width), w.array("head.bias", false, v.Outputs))
	return w.Graph
}

// block writes one block, of attention and of two dense layers, each with its shortcut.
func (w *writer) block(v Vision, name, x string) string {
	d := int64(v.Width / v.Heads)
	qkv := w.dense(w.normed(x, name+"norm1", v.Width), name+"attn.qkv", v.Width, 3*v.Width)
	qkv = w.node("Transpose", turned(2, 0, 3, 1, 4), w.node("Reshape", nil, qkv, w.whole(0, 0, 3, int64(v.Heads), d)))
	part := func(i int64) string { return w.node("Gather", along(0), qkv, w.number(i)) }
	scores := w.node("MatMul", nil, part(0), w.node("Transpose", turned(0, 1, 3, 2), part(1)))
	scores = w.node("Div", nil, scores, w.root(d))
	seen := w.node("MatMul", nil, w.node("Softmax", along(-1), scores), part(2))
	seen = w.node("Reshape", nil, w.node("Transpose", turned(0, 2, 1, 3), seen), w.whole(0, 0, int64(v.Width)))
	x = w.node("Add", nil, x, w.dense(seen, name+"attn.proj", v.Width, v.Width))
	inner := w.node("Gelu", nil, w.dense(w.normed(x, name+"norm2", v.Width), name+"mlp.fc1", v.Width, 4*v.Width))
	return w.node("Add", nil, x, w.dense(inner, name+"mlp.fc2", 4*v.Width, v.Width))
}

func (w *writer) dense(x, name string, in, out int) string {
	return w.node("Add", nil, w.node("MatMul", nil, x, w.array(name+".weight", false, in, out)), w.array(name+".bias", false, out))
}

func (w *writer) normed(x, name string, width int) string {
	a := along(-1)
	a["epsilon"] = onnx.Attribute{Float: 1e-6}
	return w.node("LayerNormalization", a, x, w.array(name+".weight", false, width), w.array(name+".bias", false, width))
}

// whole declares a constant of whole numbers and returns its name.
func (w *writer) whole(v ...int64) string {
	data, _ := binary.Append(nil, binary.LittleEndian, v) // cannot fail
	return w.constant(strings.Trim(fmt.Sprint(v), "[]"), onnx.Tensor{Type: raw.I64, Shape: []int{len(v)}, Data: data})
}

// number declares a whole number without axes.
func (w *writer) number(v int64) string {
	return w.constant(fmt.Sprint("number ", v), onnx.Tensor{Type: raw.I64, Shape: []int{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(v))})
}

// root declares √v.
func (w *writer) root(v int64) string {
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.Sqrt(float64(v)))))
	return w.constant(fmt.Sprint("root ", v), onnx.Tensor{Type: raw.F32, Shape: []int{}, Data: data})
}

func (w *writer) constant(name string, t onnx.Tensor) string {
	if t.Name = name; !slices.ContainsFunc(w.Constants, func(c onnx.Tensor) bool { return c.Name == name }) {
		w.Constants = append(w.Constants, t)
	}
	return name
}

func along(axis int64) map[string]onnx.Attribute {
	return map[string]onnx.Attribute{"axis": {Int: axis}}
}

func turned(perm ...int64) map[string]onnx.Attribute {
	return map[string]onnx.Attribute{"perm": {Ints: perm}}
}
