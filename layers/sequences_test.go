package layers_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

type naive = func(net layers.Network, x []float64) []float64

// naiveSteps applies a layer to steps of so many elements.
func naiveSteps(width int, f naive) naive {
	return func(net layers.Network, x []float64) (y []float64) {
		for step := range slices.Chunk(x, width) {
			y = append(y, f(net, step)...)
		}
		return y
	}
}

func naiveRMS(eps float64) naive {
	return func(net layers.Network, x []float64) []float64 {
		gamma := net.Params()[0]
		n := gamma.Value.Size()
		for row := range slices.Chunk(x, n) {
			square := 0.0
			for _, v := range row {
				square += v * v / float64(n)
			}
			for i := range row {
				row[i] *= gamma.At(i) / math.Sqrt(square+eps)
			}
		}
		return x
	}
}

func naiveEmbedding(net layers.Network, x []float64) (y []float64) {
	table := net.Params()[0]
	s := table.Value.Shape()
	for _, v := range x {
		row := (int(math.RoundToEven(v)) + s[0]) % s[0]
		y = append(y, table.Floats()[row*s[1]:(row+1)*s[1]]...)
	}
	return y
}

// naivePoolSteps weighs two steps of three elements.
func naivePoolSteps(first, second float64) naive {
	return func(_ layers.Network, x []float64) []float64 {
		return []float64{first*x[0] + second*x[3], first*x[1] + second*x[4], first*x[2] + second*x[5]}
	}
}

// naiveRecurrent runs recurrent layers over so many steps, from their arrays by PyTorch's names.
func naiveRecurrent(steps int) naive {
	return func(net layers.Network, x []float64) []float64 {
		list, err := net.(layers.Describer).Describe()
		if err != nil {
			panic(err)
		}
		l, arrays := list[0].(layers.Recurrent), map[string][]float64{}
		for _, p := range net.Params() {
			_, name, _ := strings.Cut(p.Name, ".")
			arrays[name] = p.Floats()
		}
		var ends []float64
		for k := range max(l.Layers, 1) {
			suffix := "_l" + strconv.Itoa(k)
			y := naiveDirection(l, arrays, suffix, x, steps, false)
			ends = y[steps-1]
			if l.Bidirectional {
				back := naiveDirection(l, arrays, suffix+"_reverse", x, steps, true)
				ends = slices.Concat(ends, back[0])
				for t := range y {
					y[t] = append(y[t], back[t]...)
				}
			}
			x = slices.Concat(y...)
		}
		if l.Last {
			return ends
		}
		return x
	}
}

// naiveDirection returns the hidden values of each step.
func naiveDirection(l layers.Recurrent, arrays map[string][]float64, suffix string, x []float64, steps int, reverse bool) [][]float64 {
	n, width := l.Units, len(x)/steps
	y, h, memory := make([][]float64, steps), make([]float64, l.Units), make([]float64, l.Units)
	for k := range steps {
		at := k
		if reverse {
			at = steps - 1 - k
		}
		sum := func(kind string, row int, v []float64) float64 {
			s := arrays["bias_"+kind+suffix][row]
			for i, e := range v {
				s += arrays["weight_"+kind+suffix][row*len(v)+i] * e
			}
			return s
		}
		now := make([]float64, n)
		for i := range n {
			in := func(g int) float64 { return sum("ih", g*n+i, x[at*width:(at+1)*width]) }
			own := func(g int) float64 { return sum("hh", g*n+i, h) }
			switch l.Cell {
			case "lstm": // input, forget, cell and output, as in the documentation of PyTorch's LSTM
				memory[i] = logistic(in(1)+own(1))*memory[i] + logistic(in(0)+own(0))*math.Tanh(in(2)+own(2))
				now[i] = logistic(in(3)+own(3)) * math.Tanh(memory[i])
			case "gru": // reset, update and new
				z := logistic(in(1) + own(1))
				now[i] = (1-z)*math.Tanh(in(2)+logistic(in(0)+own(0))*own(2)) + z*h[i]
			case "rnn":
				now[i] = math.Tanh(in(0) + own(0))
			case "rnn-relu":
				now[i] = max(0, in(0)+own(0))
			}
		}
		h, y[at] = now, slices.Clone(now)
	}
	return y
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// naiveAttention attends to the steps, head by head.
func naiveAttention(steps, heads int, causal bool) naive {
	return func(net layers.Network, x []float64) []float64 {
		in, bias, out, shift := net.Params()[0], net.Params()[1], net.Params()[2], net.Params()[3]
		e := len(x) / steps
		part := func(which, t, i int) float64 { // of queries, keys or values
			s := bias.At(which*e + i)
			for k := range e {
				s += in.At((which*e+i)*e+k) * x[t*e+k]
			}
			return s
		}
		joined, d := make([]float64, steps*e), e/heads
		for t := range steps {
			for i := range e {
				first, total, sum := i/d*d, 0.0, 0.0
				for u := range steps {
					if causal && u > t {
						continue
					}
					score := 0.0
					for k := first; k < first+d; k++ {
						score += part(0, t, k) * part(1, u, k) / math.Sqrt(float64(d))
					}
					total += math.Exp(score)
					sum += math.Exp(score) * part(2, u, i)
				}
				joined[t*e+i] = sum / total
			}
		}
		y := make([]float64, steps*e)
		for t := range steps {
			for o := range e {
				y[t*e+o] = shift.At(o)
				for i := range e {
					y[t*e+o] += joined[t*e+i] * out.At(i*e+o)
				}
			}
		}
		return y
	}
}

// TestStateDictionaries: arrays with PyTorch's names and shapes are read into each layer of sequences: dense weights
// are [out,in] in the file, and the others as they are in memory.
func TestStateDictionaries(t *testing.T) {
	form := layers.SequentialForm{Input: []int{6}, Layers: layers.Layers{
		layers.Embedding{Name: "embed", Rows: 4, Width: 4}, layers.Attention{Name: "attn", Heads: 2}, layers.RMSNorm{Name: "rms"},
		layers.DenseLayer{Name: "ff", Outputs: 4}, layers.LayerNorm{Name: "ln"}, layers.Recurrent{Name: "lstm", Cell: "lstm", Units: 4, Bidirectional: true},
		layers.Recurrent{Name: "gru", Cell: "gru", Units: 3, Layers: 2, Last: true}, layers.BatchNorm{Name: "bn"}, layers.DenseLayer{Name: "head", Outputs: 2},
	}}
	shapes := map[string][]int{
		"embed.weight": {4, 4}, "attn.in_proj_weight": {12, 4}, "attn.in_proj_bias": {12}, "attn.out_proj.weight": {4, 4}, "attn.out_proj.bias": {4},
		"rms.weight": {4}, "ff.weight": {4, 4}, "ff.bias": {4}, "ln.weight": {4}, "ln.bias": {4},
		"bn.weight": {3}, "bn.bias": {3}, "bn.running_mean": {3}, "bn.running_var": {3}, "head.weight": {2, 3}, "head.bias": {2},
	}
	for _, d := range []string{"", "_reverse"} {
		shapes["lstm.weight_ih_l0"+d], shapes["lstm.weight_hh_l0"+d] = []int{16, 4}, []int{16, 4}
		shapes["lstm.bias_ih_l0"+d], shapes["lstm.bias_hh_l0"+d] = []int{16}, []int{16}
	}
	for level, inputs := range []int{8, 3} {
		l := "_l" + strconv.Itoa(level)
		shapes["gru.weight_ih"+l], shapes["gru.weight_hh"+l] = []int{9, inputs}, []int{9, 3}
		shapes["gru.bias_ih"+l], shapes["gru.bias_hh"+l] = []int{9}, []int{9}
	}
	net, err := layers.Build(form, tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	rng, values, path := rand.New(rand.NewPCG(2, 2)), map[string]*tensor.Dense{}, filepath.Join(t.TempDir(), "net.npz")
	names, arrays := slices.Sorted(maps.Keys(shapes)), []*tensor.Dense(nil)
	for _, name := range names {
		v := make([]float64, tensor.Shape(shapes[name]).TotalSize())
		for i := range v {
			v[i] = rng.Float64() + 0.5
		}
		values[name] = graph.NewParam(name, v, tensor.Float64, shapes[name]...).Value
		arrays = append(arrays, values[name])
	}
	if err := npy.WriteArchive(path, names, arrays); err != nil {
		t.Fatal(err)
	}
	if err := layers.Load(path, net, layers.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range layers.Arrays(net) {
		want := values[p.Name].Float64s()
		if dense := []string{"attn.out_proj.weight", "ff.weight", "head.weight"}; slices.Contains(dense, p.Name) {
			s := p.Value.Shape()
			turned := make([]float64, len(want))
			for i := range turned {
				turned[i] = want[i%s[1]*s[0]+i/s[1]]
			}
			want = turned
		}
		fixture.Close(t, p.Name, p.Floats(), want, 0)
		delete(values, p.Name)
	}
	if len(values) > 0 {
		t.Errorf("not read: %v", slices.Sorted(maps.Keys(values)))
	}
}
