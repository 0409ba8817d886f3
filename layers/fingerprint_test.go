package layers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// params is a network of nothing but parameters.
type params []*graph.Param

func (p params) Params() []*graph.Param                            { return p }
func (params) Forward(_ *graph.Builder, x *graph.Node) *graph.Node { return x }

func one(name string, v *tensor.Dense) params { return params{{Name: name, Value: v}} }

// The format is fixed: posteriors on disk hold fingerprints.
func TestFingerprintFormat(t *testing.T) {
	net := append(one("w", arrayOf(tensor.Float64, []float64{1, -2}, 1, 2)), one("b", arrayOf(tensor.Float32, []float64{3}, 1))...)
	var raw []byte
	raw = append(raw, "\"w\" float64 [1 2]\n"...)
	raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(1))
	raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(-2))
	raw = append(raw, "\"b\" float32 [1]\n"...)
	raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(3))
	sum := sha256.Sum256(raw)
	if got, want := Fingerprint(net), hex.EncodeToString(sum[:])[:32]; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

func TestFingerprintTellsNetworksApart(t *testing.T) {
	f64 := tensor.Float64
	a, b := one("a", arrayOf(f64, []float64{1}, 1)), one("b", arrayOf(f64, []float64{2}, 1))
	seen := map[string]string{}
	for what, net := range map[string]Network{
		"nothing":     params{},
		"values":      one("w", arrayOf(f64, []float64{1, 2, 3, 4}, 2, 2)),
		"one bit":     one("w", arrayOf(f64, []float64{1, 2, 3, 4 + 0x1p-50}, 2, 2)), // the neighbour of 4
		"zeros":       one("w", arrayOf(f64, []float64{0, 0}, 2)),
		"minus zero":  one("w", arrayOf(f64, []float64{0, math.Copysign(0, -1)}, 2)),
		"name":        one("v", arrayOf(f64, []float64{1, 2, 3, 4}, 2, 2)),
		"shape":       one("w", arrayOf(f64, []float64{1, 2, 3, 4}, 1, 4)),
		"rank":        one("w", arrayOf(f64, []float64{1, 2, 3, 4}, 4)),
		"float32":     one("w", arrayOf(tensor.Float32, []float64{1, 2, 3, 4}, 2, 2)),
		"a then b":    append(append(params{}, a...), b...),
		"b then a":    append(append(params{}, b...), a...),
		"quoted name": one(`w" float64 [1]`, arrayOf(f64, []float64{1}, 1)),
	} {
		f := Fingerprint(net)
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have the fingerprint %s", what, other, f)
		}
		seen[f] = what
	}
}

// Long arrays are hashed in pieces; every element counts.
func TestFingerprintOfLongArrays(t *testing.T) {
	for _, dt := range dtypes {
		v := make([]float64, 3<<13+5)
		seen := map[string]int{Fingerprint(one("w", arrayOf(dt, v, len(v)))): -1}
		for _, i := range []int{0, 1<<13 - 1, 1 << 13, 2 << 13, 3<<13 - 1, 3 << 13, len(v) - 1} {
			v[i] = 1
			f := Fingerprint(one("w", arrayOf(dt, v, len(v))))
			if other, ok := seen[f]; ok {
				t.Errorf("%v: a change at %d gives the fingerprint of %d", dt, i, other)
			}
			seen[f] = i
			v[i] = 0
		}
	}
}
