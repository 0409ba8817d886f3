package onnx

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/onnxfile"
	"github.com/go-valla/valla/layers"
)

// message is a protocol buffer in the making.
type message []byte

func (m message) number(num protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), v)
}

func (m message) bytes(num protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), v)
}

func (m message) text(num protowire.Number, v ...string) message {
	for _, s := range v {
		m = m.bytes(num, []byte(s))
	}
	return m
}

func nodeProto(op string, inputs, outputs []string, attributes ...message) message {
	m := message{}.text(1, inputs...).text(2, outputs...).text(3, "the "+op).text(4, op)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	return m
}

// initial is an initialiser of a type; fill adds its elements.
func initial(name string, typ uint64, fill func(message) message, dims ...uint64) message {
	m := message{}.number(2, typ).text(8, name)
	for _, d := range dims {
		m = m.number(1, d)
	}
	return fill(m)
}

func rawData(v ...byte) func(message) message {
	return func(m message) message { return m.bytes(9, v) }
}

func floatData(v ...float32) func(message) message {
	var packed []byte
	for _, x := range v {
		packed = protowire.AppendFixed32(packed, math.Float32bits(x))
	}
	return func(m message) message { return m.bytes(4, packed) }
}

// valueInfo describes an array; 0 stands for an open extent.
func valueInfo(name string, dims ...uint64) message {
	shape := message{}
	for _, d := range dims {
		dim := message{}.text(2, "N")
		if d > 0 {
			dim = message{}.number(1, d)
		}
		shape = shape.bytes(1, dim)
	}
	return message{}.text(1, name).bytes(2, message{}.bytes(1, message{}.number(1, 1).bytes(2, shape)))
}

// graphOf is a graph from x [N,2] to y.
func graphOf(nodes []message, initials ...message) message {
	m := message{}.bytes(11, valueInfo("x", 0, 2)).bytes(12, valueInfo("y"))
	for _, n := range nodes {
		m = m.bytes(1, n)
	}
	for _, i := range initials {
		m = m.bytes(5, i)
	}
	return m
}

func modelOf(g message) message {
	return message{}.number(1, 8).bytes(7, g).bytes(8, message{}.number(2, 17))
}

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	addW  = nodeProto("Add", []string{"x", "w"}, []string{"y"})
	halfW = initial("w", 10, rawData(0, 0x3e, 0, 0xbe), 2)
)

func TestWeightTypes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), []byte{9, 9, 9, 9, 0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0xbf}, 0o644); err != nil {
		t.Fatal(err)
	}
	entry := func(key, value string) message { return message{}.text(1, key).text(2, value) }
	outside := func(m message) message {
		return m.number(14, 1).bytes(13, entry("location", "w.bin")).bytes(13, entry("offset", "4")).bytes(13, entry("length", "8"))
	}
	for name, w := range map[string]message{
		"float32": initial("w", 1, rawData(0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0xbf), 2), "float32 in its field": initial("w", 1, floatData(1.5, -1.5), 2),
		"float16": halfW, "bfloat16": initial("w", 16, rawData(0xc0, 0x3f, 0xc0, 0xbf), 2), "float16 in the field of integers": initial("w", 10, func(m message) message { return m.number(5, 0x3e00).number(5, 0xbe00) }, 2),
		"float64": initial("w", 11, rawData(0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf), 2), "another file": initial("w", 1, outside, 2),
	} {
		f, err := decode(modelOf(graphOf([]message{addW}, w)), dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		net, err := f.Network(tensor.Float32)
		if err != nil || !slices.Equal(net.Params()[0].Floats(), []float64{1.5, -1.5}) {
			t.Errorf("%s: %v, error %v", name, net.Params()[0].Floats(), err)
		}
	}
}

// TestEqualWeights: exporters store equal arrays once, with Identity nodes for the others, which
// are parameters all the same.
func TestEqualWeights(t *testing.T) {
	f, err := decode(modelOf(graphOf([]message{
		nodeProto("Identity", []string{"w"}, []string{"v"}), nodeProto("Add", []string{"x", "w"}, []string{"z"}), nodeProto("Mul", []string{"z", "v"}, []string{"y"}),
	}, halfW)), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil || len(net.Params()) != 2 || net.Params()[1].Name != "v" || net.Params()[1].At(1) != -1.5 {
		t.Errorf("%v, error %v", net.Params(), err)
	}
}

// TestSettings: numbers that are settings of an operator, not weights, may be arrays of the file.
func TestSettings(t *testing.T) {
	f, err := decode(modelOf(graphOf([]message{
		nodeProto("Dropout", []string{"x", "ratio"}, []string{"d"}),
		nodeProto("ArgMax", []string{"d"}, []string{"i"}, message{}.text(1, "axis").number(3, 1)),
		nodeProto("OneHot", []string{"i", "depth", "values"}, []string{"o"}),
		nodeProto("Mul", []string{"o", "w"}, []string{"y"}),
	}, initial("ratio", 1, floatData(0.5), 1), initial("depth", 1, floatData(2), 1), initial("values", 1, floatData(0, 1), 2), initial("w", 1, floatData(3, 4), 2))), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if params := net.Params(); len(params) != 1 || params[0].Name != "w" {
		t.Errorf("%d weights, want w alone", len(params))
	}
}

func TestOptions(t *testing.T) {
	softmax := nodeProto("Softmax", []string{"z"}, []string{"y"})
	model := modelOf(graphOf([]message{nodeProto("Add", []string{"x", "w"}, []string{"z"}), softmax}, halfW))
	for _, o := range []Options{{Ends: []string{"Softmax"}}, {Frozen: []string{"w*"}, Ends: []string{"Softmax"}}, {Ends: []string{"Sigmoid"}}, {}} {
		f, err := decode(model, "", o)
		if err != nil {
			t.Fatal(err)
		}
		g := f.Form.Layers[0].(Graph)
		if (g.Output == "z") != slices.Contains(o.Ends, "Softmax") || (f.Ended == "Softmax") != (g.Output == "z") || g.Arrays[0].State != (o.Frozen != nil) {
			t.Errorf("%+v: %+v", o, g)
		}
	}
	for squash, last := range map[string]string{"Sigmoid": "Squeeze", "Softmax": "Identity", "LogSoftmax": "Identity"} {
		nodes := []message{nodeProto("Add", []string{"x", "w"}, []string{"z"}), nodeProto(squash, []string{"z"}, []string{"p"}), nodeProto(last, []string{"p"}, []string{"y"})}
		f, err := decode(modelOf(graphOf(nodes, halfW)), "", Options{Ends: ClassEnds})
		if err != nil || slices.ContainsFunc(f.Form.Layers[0].(Graph).Nodes, func(n Node) bool { return n.Op == squash }) {
			t.Errorf("%s before %s: %+v, error %v", squash, last, f, err)
		}
	}
	if _, err := decode(model, "", Options{Frozen: []string{"w", "v*"}}); err == nil || err.Error() != `no array of the file fits the frozen name "v*"` {
		t.Errorf("a frozen name of nothing: error %v", err)
	}
	open := modelOf(message{}.bytes(11, valueInfo("x", 0, 0)).bytes(12, valueInfo("y")).bytes(1, addW).bytes(5, halfW))
	if _, err := decode(open, "", Options{}); err == nil || !strings.Contains(err.Error(), "leaves the shape of an example open") {
		t.Errorf("an open shape: %v", err)
	}
	if f, err := decode(open, "", Options{Input: []int{2}}); err != nil || layers.OutputSize(f.Form) != 2 {
		t.Errorf("a stated shape: %v", err)
	}
}

// TestArraysBeside: a file with its arrays beside it is read as the file with its arrays inside.
func TestArraysBeside(t *testing.T) {
	numbers := func(n int) []float64 { return fixture.Normal(rand.New(rand.NewPCG(1, uint64(n))), n) }
	model := &onnxfile.Model{
		Nodes: []onnxfile.Node{
			{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"z"}},
			{Op: "MatMul", Inputs: []string{"z", "v"}, Outputs: []string{"p"}},
			{Op: "Add", Inputs: []string{"p", "b"}, Outputs: []string{"y"}},
		},
		Arrays: []onnxfile.Array{onnxfile.Floats("w", numbers(35*33), 35, 33), onnxfile.Floats("v", numbers(33*4), 33, 4), onnxfile.Floats("b", numbers(4), 4)},
		Inputs: []onnxfile.Value{{Name: "x", Type: onnxfile.Double, Shape: []int{0, 35}}}, Outputs: []onnxfile.Value{{Name: "y", Type: onnxfile.Double, Shape: []int{0, 4}}},
	}
	for most, count := range map[int]int{0: 1, 1: 2} {
		files, size, err := model.Write(filepath.Join(t.TempDir(), "net.onnx"), most)
		if err != nil || len(files) != count {
			t.Fatalf("files %q, error %v", files, err)
		}
		for _, path := range files {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size -= int(info.Size())
		}
		f, err := Read(files[0], Options{})
		if err != nil || size != 0 {
			t.Fatalf("%d bytes are not in the files %q, error %v", size, files, err)
		}
		for _, a := range model.Arrays {
			if !bytes.Equal(f.weights[a.Name].Data, a.Data) {
				t.Errorf("at most %d bytes inside: the array %q differs", most, a.Name)
			}
		}
	}
}

func TestHostileFiles(t *testing.T) {
	real, err := os.ReadFile(filepath.Join("testdata", "cnn_small.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	none := func(m message) message { return m }
	location := func(name string) func(message) message {
		return func(m message) message { return m.number(14, 1).bytes(13, message{}.text(1, "location").text(2, name)) }
	}
	inner := message{}.text(1, "then_branch").bytes(6, graphOf(nil))
	floats := message{}.text(1, "value").bytes(5, initial("", 1, none, 1<<40))
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                  {nil, "there is no graph"},
		"text":                   {[]byte("this is no model"), "damaged"},
		"cut off":                {real[:len(real)/2], "field 7 is cut off"},
		"an old opset":           {message{}.bytes(7, graphOf(nil)).bytes(8, message{}.number(2, 7)), "opset 7, expected 11 to 24"},
		"no opset":               {message{}.bytes(7, graphOf(nil)), "does not name its opset"},
		"an unknown operator":    {modelOf(graphOf([]message{nodeProto("NonZero", []string{"x"}, []string{"y"})})), `node 1 "the NonZero" (NonZero, opset 17): this operator is not supported; valla network operators`},
		"another domain":         {modelOf(graphOf([]message{nodeProto("Add", []string{"x"}, []string{"y"}).text(7, "com.microsoft")})), "(Add of com.microsoft)"},
		"a graph inside":         {modelOf(graphOf([]message{nodeProto("If", []string{"x"}, []string{"y"}, inner)})), "graphs inside a node"},
		"a cycle":                {modelOf(graphOf([]message{nodeProto("Add", []string{"x", "z"}, []string{"y"}), nodeProto("Relu", []string{"y"}, []string{"z"})})), `its input "z" comes from no node before it`},
		"itself":                 {modelOf(graphOf([]message{nodeProto("Relu", []string{"y"}, []string{"y"})})), `its input "y" comes from no node`},
		"a name twice":           {modelOf(graphOf([]message{addW, addW}, halfW)), `two values are called "y"`},
		"an initialiser twice":   {modelOf(graphOf([]message{addW}, halfW, halfW)), `two initialisers are called "w"`},
		"no output":              {modelOf(graphOf([]message{nodeProto("Relu", []string{"x"}, nil)})), `no node computes the output "y"`},
		"no input":               {modelOf(graphOf([]message{nodeProto("Relu", nil, []string{"y"})})), "input 1 is missing"},
		"without the weights":    {modelOf(graphOf([]message{addW})), `its input "w" comes from no node`},
		"a constant output":      {modelOf(graphOf([]message{nodeProto("Shape", []string{"x"}, []string{"y"})})), "does not depend on the input"},
		"a huge shape":           {modelOf(graphOf([]message{addW}, initial("w", 1, none, 1<<40, 1<<40))), "shape [1099511627776 1099511627776]"},
		"a negative shape":       {modelOf(graphOf([]message{addW}, initial("w", 1, none, 1<<63))), "shape [-9223372036854775808]"},
		"too few numbers":        {modelOf(graphOf([]message{addW}, initial("w", 1, rawData(1, 2, 3, 4), 2))), "4 bytes for shape [2]"},
		"text as weights":        {modelOf(graphOf([]message{addW}, initial("w", 8, none, 2))), "ONNX's type 8"},
		"a huge constant":        {modelOf(graphOf([]message{nodeProto("Constant", nil, []string{"c"}, floats), nodeProto("Add", []string{"x", "c"}, []string{"y"})})), "shape [1099511627776]"},
		"shapes that do not fit": {modelOf(graphOf([]message{addW}, initial("w", 1, floatData(1, 2, 3), 3))), `node 1 "the Add" (Add, opset 17)`},
		"a file outside":         {modelOf(graphOf([]message{addW}, initial("w", 1, location("../w"), 2))), `the file "../w"`},
		"an absolute file":       {modelOf(graphOf([]message{addW}, initial("w", 1, location("/etc/passwd"), 2))), `the file "/etc/passwd"`},
		"no file":                {modelOf(graphOf([]message{addW}, initial("w", 1, location("none"), 2))), `data in the file "none"`},
		"lines in a file":        {modelOf(graphOf([]message{addW}, initial("w", 1, location("a\nb"), 2))), `data in the file "a\nb"`},
		"lines in an operator":   {modelOf(graphOf([]message{nodeProto("a\nb", []string{"x"}, []string{"y"})})), `("a\nb", opset 17)`},
		"lines in a domain":      {modelOf(graphOf([]message{nodeProto("Relu", []string{"x"}, []string{"y"}).text(7, "a\nb")})), `(Relu of "a\nb")`},
		"sparse":                 {modelOf(graphOf(nil).bytes(15, nil)), "sparse"},
		"two outputs":            {modelOf(graphOf([]message{addW}, halfW).bytes(12, valueInfo("z"))), "2 outputs"},
		"a huge expansion":       {modelOf(graphOf([]message{nodeProto("Expand", []string{"x", "s"}, []string{"y"})}, initial("s", 7, func(m message) message { return m.number(7, 1<<50).number(7, 1).number(7, 2) }, 3))), "node 1"},
		"a huge fill":            {modelOf(graphOf([]message{nodeProto("ConstantOfShape", []string{"s"}, []string{"y"})}, initial("s", 7, func(m message) message { return m.number(7, 1<<50) }, 1))), "filled with"},
	} {
		_, err := Read(write(t, c.file), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "net.onnx") {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestNonFiniteWeights(t *testing.T) {
	f, err := decode(modelOf(graphOf([]message{addW}, initial("w", 1, floatData(1, float32(math.Inf(1))), 2))), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Network(tensor.Float64); err == nil || !strings.Contains(err.Error(), `array "w": element 1 is +Inf`) {
		t.Errorf("an infinite weight: %v", err)
	}
}

// TestSharedData: tensors may name the same part of a file, which is read once, but different parts must not
// be larger than the file together.
func TestSharedData(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), make([]byte, 24), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(name, offset string) func(m message) message {
		return func(m message) message {
			return m.number(14, 1).bytes(13, message{}.text(1, "location").text(2, name)).bytes(13, message{}.text(1, "offset").text(2, offset))
		}
	}
	file := &files{dir: dir, parts: map[part][]byte{}, taken: map[string]int64{}}
	read := func(name, offset string) error {
		_, err := readTensor(fields(initial("w", 1, at(name, offset), 4)), file)
		return err
	}
	for range 100 {
		if err := errors.Join(read("w.bin", "8"), read("./w.bin", "8")); err != nil {
			t.Fatal(err)
		}
	}
	if err := read("w.bin", "4"); err == nil || !strings.Contains(err.Error(), `more bytes of the file "w.bin" than its 24`) {
		t.Errorf("error %v", err)
	}
	if err := read(".", ""); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestSmallFields: a file of very many fields takes memory in proportion to its bytes.
func TestSmallFields(t *testing.T) {
	for name, m := range map[string]message{
		"numbers":      slices.Concat(slices.Repeat(message{1 << 3, 0}, 1<<19), modelOf(message{})),
		"graphs":       slices.Repeat(message{7<<3 | 2, 0}, 1<<19),
		"nodes":        modelOf(slices.Repeat(message{1<<3 | 2, 0}, 1<<19)),
		"initialisers": modelOf(slices.Repeat(message{5<<3 | 2, 0}, 1<<19)),
		"inputs":       modelOf(graphOf([]message{slices.Repeat(message{1<<3 | 2, 0}, 1<<19)})),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(m, "", Options{})
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 60*uint64(len(m)) {
			t.Errorf("%s: %d bytes allocated for a file of %d, error %v", name, taken, len(m), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("testdata", "*.onnx"))
	gallery, _ := filepath.Glob(filepath.Join("testdata", "gallery", "*.onnx"))
	for _, path := range append(paths, gallery...) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, op := range Operators() {
		for n := 1; n <= 3; n++ {
			f.Add([]byte(modelOf(graphOf([]message{nodeProto(op, []string{"x", "w", "w"}[:n], []string{"y"})}, halfW))))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decode(data, t.TempDir(), Options{})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			foreign := slices.ContainsFunc(registered, func(op string) bool { return strings.Contains(err.Error(), "("+op+", ") })
			if strings.Contains(err.Error(), "broke off") && !foreign {
				t.Error(err)
			}
			return
		}
		text, err := layers.MarshalForm(file.Form)
		if err != nil {
			return // numbers that JSON does not have
		}
		if _, err := layers.UnmarshalForm(text); err != nil {
			t.Errorf("the form %s is not read: %v", bytes.TrimSpace(text), err)
		}
		if net, err := file.Network(tensor.Float32); err == nil && len(layers.Arrays(net)) != len(file.weights) {
			t.Errorf("%d arrays of %d", len(layers.Arrays(net)), len(file.weights))
		}
	})
}
