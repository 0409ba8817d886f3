package onnx

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields are the bytes of a message of protocol buffers, which have been checked. The fields are read from
// the bytes whenever they are asked for: a list of them would take twenty times the memory.
type fields []byte

// field is a value in a message: a number, or bytes.
type field struct {
	number uint64 // of a field with a number
	bytes  []byte // of a field with bytes
	packed bool   // the field has bytes
}

// parse checks the fields of a message, but no message inside it.
func parse(data []byte) (fields, error) {
	for rest := data; len(rest) > 0; {
		_, _, n, err := next(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return data, nil
}

// next reads the first field of a message, which takes n bytes.
func next(data []byte) (num protowire.Number, v field, n int, err error) {
	num, typ, start := protowire.ConsumeTag(data)
	if start < 0 {
		return 0, v, 0, fmt.Errorf("damaged, or no protocol buffer: %w", protowire.ParseError(start))
	}
	data = data[start:]
	switch typ {
	case protowire.VarintType:
		v.number, n = protowire.ConsumeVarint(data)
	case protowire.Fixed64Type:
		v.number, n = protowire.ConsumeFixed64(data)
	case protowire.Fixed32Type:
		var x uint32
		x, n = protowire.ConsumeFixed32(data)
		v.number = uint64(x)
	case protowire.BytesType:
		v.packed = true
		v.bytes, n = protowire.ConsumeBytes(data)
	default:
		n = protowire.ConsumeFieldValue(num, typ, data)
	}
	if n < 0 {
		return 0, v, 0, fmt.Errorf("field %d is cut off or damaged: %w", num, protowire.ParseError(n))
	}
	return num, v, start + n, nil
}

// all yields the values of a field.
func (f fields) all(num protowire.Number) iter.Seq[field] {
	return func(yield func(field) bool) {
		for rest := f; len(rest) > 0; {
			at, v, n, err := next(rest)
			if err != nil || at == num && !yield(v) { // parse has checked the bytes
				return
			}
			rest = rest[n:]
		}
	}
}

// has reports whether the message has a field.
func (f fields) has(num protowire.Number) bool {
	for range f.all(num) {
		return true
	}
	return false
}

// last returns the last value of a field: in a protocol buffer the last value counts.
func (f fields) last(num protowire.Number) (last field) {
	for v := range f.all(num) {
		last = v
	}
	return last
}

func (f fields) text(num protowire.Number) string { return string(f.last(num).bytes) }
func (f fields) int(num protowire.Number) int64   { return int64(f.last(num).number) }

func (f fields) texts(num protowire.Number) []string {
	var all []string
	for v := range f.all(num) {
		all = append(all, string(v.bytes))
	}
	return all
}

// messages yields the messages of a repeated field, one at a time; after an error none follows.
func (f fields) messages(num protowire.Number) iter.Seq2[fields, error] {
	return func(yield func(fields, error) bool) {
		for v := range f.all(num) {
			m, err := parse(v.bytes)
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func (f fields) message(num protowire.Number) (fields, error) { return parse(f.last(num).bytes) }

// ints returns repeated integers, which may be packed or stand one by one.
func (f fields) ints(num protowire.Number) ([]int64, error) {
	return numbers(f.all(num), protowire.ConsumeVarint, func(v uint64) int64 { return int64(v) })
}

func (f fields) floats(num protowire.Number) ([]float64, error) {
	return numbers(f.all(num), protowire.ConsumeFixed32, func(v uint32) float64 { return float64(math.Float32frombits(v)) })
}

func (f fields) doubles(num protowire.Number) ([]float64, error) {
	return numbers(f.all(num), protowire.ConsumeFixed64, math.Float64frombits)
}

func numbers[U uint32 | uint64, T any](values iter.Seq[field], consume func([]byte) (U, int), convert func(U) T) ([]T, error) {
	var all []T
	for v := range values {
		if !v.packed {
			all = append(all, convert(U(v.number)))
			continue
		}
		all = slices.Grow(all, len(v.bytes)/8)
		for b := v.bytes; len(b) > 0; {
			x, n := consume(b)
			if n < 0 {
				return nil, fmt.Errorf("numbers are cut off: %w", protowire.ParseError(n))
			}
			all, b = append(all, convert(x)), b[n:]
		}
	}
	return all, nil
}
