package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// rewritten copies a message, with change(v) in place of its fields of bytes v.
func rewritten(t *testing.T, m []byte, change func(num protowire.Number, v []byte) message) (out message) {
	t.Helper()
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeField(m)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(m[protowire.SizeTag(num):n])
			out = append(out, change(num, v)...)
		} else {
			out = append(out, m[:n]...)
		}
		m = m[n:]
	}
	return out
}

// exporter writes models as PyTorch's newer exporter does: each node is a call of a function of a domain of its own, and
// the weights stand in a file beside the model.
type exporter struct {
	t         *testing.T
	functions []message
	data      []byte
}

const dynamoDomain = "pkg.onnxscript.torch_lib"

// call makes a function of a node [NodeProto] and returns the call of the function.
func (e *exporter) call(node []byte, opset uint64) message {
	var inputs, outputs, inside, made []string
	body := rewritten(e.t, node, func(num protowire.Number, v []byte) message {
		switch num {
		case 1:
			inputs = append(inputs, string(v))
			if inside = append(inside, fmt.Sprint("self.", len(inputs))); len(v) == 0 {
				return message{}.text(1, "")
			}
			return message{}.text(1, inside[len(inside)-1])
		case 2:
			outputs = append(outputs, string(v))
			made = append(made, fmt.Sprint("return_val_", len(outputs)))
			return message{}.text(2, made[len(made)-1])
		}
		return message{}.bytes(num, v)
	})
	name := fmt.Sprint("aten_", len(e.functions))
	e.functions = append(e.functions, message{}.text(1, name).text(4, inside...).text(5, made...).bytes(7, body).bytes(9, message{}.number(2, opset)).text(10, dynamoDomain))
	return message{}.text(1, inputs...).text(2, outputs...).text(3, "node_"+name).text(4, name).text(7, dynamoDomain)
}

// outside moves the elements of an initialiser [TensorProto] to the file beside the model.
func (e *exporter) outside(array []byte) message {
	return rewritten(e.t, array, func(num protowire.Number, v []byte) message {
		if num != 9 {
			return message{}.bytes(num, v)
		}
		m := message{}.number(14, 1)
		for _, pair := range [][2]string{{"location", "weights.data"}, {"offset", fmt.Sprint(len(e.data))}, {"length", fmt.Sprint(len(v))}} {
			m = m.bytes(13, message{}.text(1, pair[0]).text(2, pair[1]))
		}
		e.data = append(e.data, v...)
		return m
	})
}

// model rewrites a model.
func (e *exporter) model(model []byte, opset uint64) message {
	m := rewritten(e.t, model, func(num protowire.Number, graph []byte) message {
		if num != 7 {
			return message{}.bytes(num, graph)
		}
		return message{}.bytes(7, rewritten(e.t, graph, func(num protowire.Number, v []byte) message {
			switch num {
			case 1:
				return message{}.bytes(1, e.call(v, opset))
			case 5:
				return message{}.bytes(5, e.outside(v))
			}
			return message{}.bytes(num, v)
		}))
	})
	for _, f := range e.functions {
		m = m.bytes(25, f)
	}
	return m.bytes(8, message{}.text(1, dynamoDomain).number(2, 1))
}

// newerFile reads the model at path as the newer exporter writes it.
func newerFile(t *testing.T, path string, opset int, o Options) *File {
	t.Helper()
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, dir := &exporter{t: t}, t.TempDir()
	model = e.model(model, uint64(opset))
	if len(e.functions) == 0 || len(e.data) == 0 {
		t.Errorf("%d functions and %d bytes beside the model, expected some", len(e.functions), len(e.data))
	}
	for file, data := range map[string][]byte{"net.onnx": model, "weights.data": e.data} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(filepath.Join(dir, "net.onnx"), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNewerExporter: networks of the gallery as calls of functions, with weights in a file beside them, are the networks
// of PyTorch.
func TestNewerExporter(t *testing.T) {
	paths, _ := filepath.Glob("testdata/gallery/*.onnx")
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			plain, err := Read(path, galleryOptions[name])
			if err != nil {
				t.Fatal(err)
			}
			f := newerFile(t, path, plain.Form.Layers[0].(Graph).Opset, galleryOptions[name])
			ref, err := npy.ReadArchive(strings.TrimSuffix(path, ".onnx") + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			net, err := f.Network(tensor.Float64)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "outputs", forward(t, net, galleryInputs(t, f, ref), tensor.Float64), array(t, ref, "y").Float64s(), 1e-8)
		})
	}
}
