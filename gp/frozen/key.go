package frozen

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
)

// key is the hash of an input: the first half of the SHA-256 sum of its numbers, in the element type of the network.
type key [16]byte

// hasher makes keys. It serves one goroutine at a time.
type hasher struct {
	dt    tensor.Dtype
	row64 []float64 // numbers of a row
	text  []byte    // of a row
}

func newHasher(dt tensor.Dtype) *hasher { return &hasher{dt: dt} }

// row returns the key of row i of x [N,…].
func (h *hasher) row(x *tensor.Dense, i int) key {
	width := x.Shape().TotalSize() / x.Shape()[0]
	if len(h.row64) != width {
		h.row64 = make([]float64, width)
	}
	dense.Copy(h.row64, x, i*width)
	return h.numbers(h.row64)
}

// numbers returns the key of an input that consists of the numbers v, which are rounded to the element type.
func (h *hasher) numbers(v []float64) key {
	h.text = encode(h.text[:0], v, h.dt)
	sum := sha256.Sum256(h.text)
	return key(sum[:len(key{})])
}

// encode appends numbers in little-endian order as numbers of an element type.
func encode(to []byte, v []float64, dt tensor.Dtype) []byte {
	for _, x := range v {
		if dt == tensor.Float32 {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(float32(x)))
		} else {
			to = binary.LittleEndian.AppendUint64(to, math.Float64bits(x))
		}
	}
	return to
}

// decode reads numbers that encode has written.
func decode(v []float64, from []byte, dt tensor.Dtype) {
	for i := range v {
		if dt == tensor.Float32 {
			v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:])))
		} else {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:]))
		}
	}
}
