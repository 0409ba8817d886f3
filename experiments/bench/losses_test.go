package bench

import (
	"math"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// recorded is what our side computes in a row of the table: how many numbers, their sum, the
// sum of their squares, and the first three. They were recorded before the methods moved
// behind their common interface.
type recorded struct {
	row, name    string
	count        int
	sum, squares float64
	first        []float64
}

// Our side still computes the numbers of the recorded comparison: in float64 to 1e-6, in float32
// to the tolerance of the comparison.
func TestRecorded(t *testing.T) {
	for _, b := range benchmarks {
		if b.group != dense && b.group != convolution {
			continue
		}
		for _, dt := range b.dtypes {
			w, err := b.new(dt)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.collect(t.Context(), b.compare)
			if err != nil {
				t.Fatal(err)
			}
			finiteAndFalling(t, b.name, got)
			known := 0
			for _, r := range recordings {
				if r.row == b.name {
					known++
					r.compare(t, got[r.name], dt)
				}
			}
			if known != len(got) || known == 0 {
				t.Errorf("%s: %d values, of which %d are recorded", b.name, len(got), known)
			}
		}
	}
}

// finiteAndFalling checks that all values of a row are finite and that its losses fall.
func finiteAndFalling(t *testing.T, row string, all values) {
	t.Helper()
	for name, v := range all {
		for i, e := range v {
			if !kernel.Finite(e) {
				t.Fatalf("%s: %s[%d] is %v", row, name, i, e)
			}
		}
	}
	if loss := all["loss"]; loss != nil && !(loss[1] < loss[0]) {
		t.Errorf("%s: losses %v do not fall", row, loss)
	}
}

func (r recorded) compare(t *testing.T, v []float64, dt tensor.Dtype) {
	t.Helper()
	if len(v) != r.count {
		t.Fatalf("%s, %s: %d numbers, expected %d", r.row, r.name, len(v), r.count)
	}
	sum, squares, largest := 0.0, 0.0, 0.0
	for _, x := range v {
		sum, squares, largest = sum+x, squares+x*x, max(largest, math.Abs(x))
	}
	near := func(what string, got, want, scale float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerances[dt]*scale) {
			t.Errorf("%s, %s, %v: %s is %v, expected %v", r.row, r.name, dt, what, got, want)
		}
	}
	near("the sum of squares", squares, r.squares, r.squares)
	near("the sum", sum, r.sum, largest*float64(r.count))
	for i, want := range r.first {
		near("a number", v[i], want, largest)
	}
}

var recordings = []recorded{
	{"VaLLA step, regression 90-200-200-200-1, M = 100", "loss", 3, 724.75266260477815, 175089.86553752335, []float64{242.31102737536185, 241.58540532937835, 240.85622990003802}},
	{"VaLLA step, regression 90-200-200-200-1, M = 200", "loss", 3, 849.34723206555884, 240468.62541862208, []float64{284.70510795330893, 283.11565721092359, 281.52646690132633}},
	{"VaLLA step, classification 784-200-200-10, M = 100", "loss", 3, 723.02014544537769, 174252.72952843679, []float64{241.10515268920085, 241.00624861357514, 240.90874414260173}},
	{"VaLLA step, classification 784-200-200-10, M = 200", "loss", 3, 753.24362372351698, 189125.46829414146, []float64{251.35525954018655, 251.07972602788399, 250.80863815544637}},
	{"predict 1,000 points, regression, M = 100", "covariance", 1000, 125.39897719825623, 15.881699438852989, []float64{0.14685096554993313, 0.11313474463907566, 0.10400688831873123}},
	{"predict 1,000 points, regression, M = 100", "mean", 1000, 13.789831717625477, 8.6946318557376188, []float64{-0.043654411382568981, 0.020373753175175667, -0.05926273420207126}},
	{"predict 1,000 points, classification, M = 100", "covariance", 100000, 5559.417632196838, 6737.4439471040005, []float64{0.79113571178432818, -0.064489133137601046, -0.081853654772035545}},
	{"predict 1,000 points, classification, M = 100", "mean", 10000, -429.39261275231388, 242.81464333779172, []float64{-0.23015780180316822, -0.08351284481571658, -0.055623365271806405}},
	{"predict 1,000 points, classification, M = 100", "probabilities", 10000, 1000.0000000000043, 101.6171588736098, []float64{0.087492768730965328, 0.099495504039277025, 0.10197305082791519}},
	{"MAP step, 784-200-200-10, Adam", "loss", 3, 6.089394574996696, 12.507200502834591, []float64{2.302731666441626, 2.026032968376267, 1.7606299401788033}},
	{"ResNet-20 forward, batch 100", "outputs", 1000, 73.184062713768924, 18.620832688793453, []float64{-0.0609106935171084, -0.021565730943726547, 0.15467529820064366}},
	{"ResNet-20 MAP step, batch 100, SGD", "loss", 3, 7.1831401544516416, 17.202334936220883, []float64{2.4309423775792571, 2.4002052968660754, 2.3519924800063086}},
}
