package jacobian_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// tolerances are relative to the largest element.
var tolerances = map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-4}

// jacobianRows joins the rows of all parameters: [rows, P] row-major.
func jacobianRows(t *testing.T, b *graph.Builder, parts []*graph.Node) []float64 {
	t.Helper()
	vals := small.Values(t, b, parts...)
	var out []float64
	for r := range parts[0].Shape()[0] {
		for i, p := range parts {
			n := p.Shape()[1]
			out = append(out, vals[i][r*n:(r+1)*n]...)
		}
	}
	return out
}

func TestFixtureJacobian(t *testing.T) {
	for _, name := range []string{"mlp_reg", "mlp_cls", "mlp_act"} {
		a := fixture.Load(t, name)
		acts := map[layers.Activation]string{"tanh": "J_X"}
		if name == "mlp_act" {
			acts = map[layers.Activation]string{"tanh": "J_tanh", "relu": "J_relu", "erf": "J_erf", "softplus": "J_softplus", "sin": "J_sin"}
		}
		for act, key := range acts {
			for _, v := range variants {
				b := graph.NewBuilder(v.dt)
				x := small.Given(b, "X", graph.Convert(a.Dense(t, "X"), v.dt))
				k := jacobian.NTK{Net: small.Numbered(t, a, act, v.dt), Dense: v.alg}
				fixture.Close(t, fmt.Sprint(name, " ", key, " ", v), jacobianRows(t, b, k.Rows(b, x)), a.Floats(t, key), tolerances[v.dt])
			}
		}
	}
}

// variants are all element types and algorithms.
var variants = []struct {
	dt  tensor.Dtype
	alg bool
}{
	{tensor.Float64, factored}, {tensor.Float64, dense},
	{tensor.Float32, factored}, {tensor.Float32, dense},
}

func TestFixtureKernels(t *testing.T) {
	for _, c := range []struct {
		name string
		act  layers.Activation
		pre  string
	}{{"mlp_reg", "tanh", ""}, {"mlp_cls", "tanh", ""}, {"mlp_act", "relu", "relu_"}} {
		a := fixture.Load(t, c.name)
		for _, v := range variants {
			b := graph.NewBuilder(v.dt)
			x := small.Given(b, "X", graph.Convert(a.Dense(t, "X"), v.dt))
			z := small.Given(b, "Z", graph.Convert(a.Dense(t, "Z"), v.dt))
			class := classes(t, a, z.Shape()[0])
			k := jacobian.NTK{Net: small.Numbered(t, a, c.act, v.dt), Dense: v.alg}
			s2 := math.Pow(a.Scalar(t, "sigma0"), 2)
			got := small.Values(t, b, b.Scale(k.Diag(b, x), s2), b.Scale(b.Transpose(k.Cross(b, x, z, class)), s2), b.Scale(k.Gram(b, z, class), s2))
			for i, key := range []string{"Kx", "Kxz", "Kz"} {
				fixture.Close(t, fmt.Sprint(c.name, " ", key, " ", v), got[i], a.Floats(t, c.pre+key), tolerances[v.dt])
			}
			if a.Has("wrong_appendix_ntk_XZ") {
				wrong := a.Floats(t, "wrong_appendix_ntk_XZ")
				if got := small.Values(t, b, k.Cross(b, x, z, class))[0]; fixture.RelErr(got, wrong) < 1e-2 {
					t.Errorf("%s: the kernel is the one of the paper's appendix, which is wrong", c.name)
				}
			}
		}
	}
}

// classes reads zc, or gives zeros for regression.
func classes(t *testing.T, a fixture.Arrays, m int) []int {
	if a.Has("zc") {
		return a.Ints(t, "zc")
	}
	return make([]int, m)
}
