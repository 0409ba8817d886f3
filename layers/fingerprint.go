package layers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Fingerprint identifies the weights of a network, so that a result computed from them is
// not used with others. It is the first half of a SHA-256 hash, 32 hexadecimal digits,
// over the name, element type, shape and exact bits of each of the network's [Arrays], in
// order. It is the same on all machines and in all runs.
//
// The structure of the network, such as its activations, is not part of it. The same
// numbers in another element type have another fingerprint.
func Fingerprint(net Network) string {
	h := sha256.New()
	for _, p := range Arrays(net) {
		hashParam(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// hashParam writes p in a form that no other parameter has: a line of text with
// the name quoted, then as many bytes as it says, little-endian.
func hashParam(h hash.Hash, p *graph.Param) {
	fmt.Fprintf(h, "%q %v %d\n", p.Name, p.Value.Dtype(), []int(p.Value.Shape()))
	if p.Value.Dtype() == tensor.Float64 {
		hashElements(h, p.Value.Float64s())
	} else {
		hashElements(h, p.Value.Float32s())
	}
}

// hashElements writes elements in pieces, to need little memory.
func hashElements[T any](h hash.Hash, elements []T) {
	var buf []byte
	for piece := range slices.Chunk(elements, 1<<13) {
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, piece) // fails for no slice of numbers
		h.Write(buf)
	}
}
