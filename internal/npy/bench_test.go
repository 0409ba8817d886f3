package npy

import (
	"bytes"
	"io"
	"testing"
)

// The size of MNIST's training images as float32.
func BenchmarkDecode(b *testing.B) {
	var buf bytes.Buffer
	if err := Encode(&buf, dense([]int{60000, 784}, make([]float32, 60000*784))); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		if _, err := Decode(bytes.NewReader(buf.Bytes()), "x"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	d := dense([]int{60000, 784}, make([]float32, 60000*784))
	b.SetBytes(60000 * 784 * 4)
	for b.Loop() {
		if err := Encode(io.Discard, d); err != nil {
			b.Fatal(err)
		}
	}
}
