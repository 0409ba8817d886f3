package onnx

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields are the fields of a message of protocol buffers by their numbers.
type fields map[protowire.Number][]field

// field is a value in a message: a number, or bytes.
type field struct {
	number uint64 // of a field with a number
	bytes  []byte // of a field with bytes
	packed bool   // the field has bytes
}

// parse reads the fields of a message, but no message inside it.
func parse(data []byte) (fields, error) {
	f := fields{}
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, fmt.Errorf("damaged, or no protocol buffer: %w", protowire.ParseError(n))
		}
		data = data[n:]
		var v field
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
			return nil, fmt.Errorf("field %d is cut off or damaged: %w", num, protowire.ParseError(n))
		}
		data = data[n:]
		f[num] = append(f[num], v)
	}
	return f, nil
}

// last returns the last value of a field: in a protocol buffer the last value counts.
func (f fields) last(num protowire.Number) field {
	if v := f[num]; len(v) > 0 {
		return v[len(v)-1]
	}
	return field{}
}

func (f fields) text(num protowire.Number) string { return string(f.last(num).bytes) }
func (f fields) int(num protowire.Number) int64   { return int64(f.last(num).number) }

func (f fields) texts(num protowire.Number) []string {
	var all []string
	for _, v := range f[num] {
		all = append(all, string(v.bytes))
	}
	return all
}

// messages parses the messages of a repeated field.
func (f fields) messages(num protowire.Number) ([]fields, error) {
	var all []fields
	for _, v := range f[num] {
		m, err := parse(v.bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (f fields) message(num protowire.Number) (fields, error) { return parse(f.last(num).bytes) }

// ints returns repeated integers, which may be packed or stand one by one.
func (f fields) ints(num protowire.Number) ([]int64, error) {
	return numbers(f[num], protowire.ConsumeVarint, func(v uint64) int64 { return int64(v) })
}

func (f fields) floats(num protowire.Number) ([]float64, error) {
	return numbers(f[num], protowire.ConsumeFixed32, func(v uint32) float64 { return float64(math.Float32frombits(v)) })
}

func (f fields) doubles(num protowire.Number) ([]float64, error) {
	return numbers(f[num], protowire.ConsumeFixed64, math.Float64frombits)
}

func numbers[U uint32 | uint64, T any](values []field, consume func([]byte) (U, int), convert func(U) T) ([]T, error) {
	var all []T
	for _, v := range values {
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
