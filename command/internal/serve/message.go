package serve

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// message receives a request of gRPC. Its memory is taken before it is decoded.
type message struct {
	memory  share                 // memory of the request
	request oip.ModelInferRequest // request
	err     error                 // reason for which there is no request
}

// codec decodes messages as the codec of gRPC does, but takes the memory of a *message before.
type codec struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	text := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer text.Free()
	m.decode(text.ReadOnlyData())
	return nil
}

// decode decodes the request from its bytes.
func (m *message) decode(b []byte) {
	if m.err = m.memory.take(decoded(b, m.request.ProtoReflect().Descriptor())); m.err != nil {
		return
	}
	if err := proto.Unmarshal(b, &m.request); err != nil {
		m.err = fmt.Errorf("the request is no message of the inference protocol: %w", err)
	}
}

// Memory in bytes of a decoded message.
const (
	messageBytes = 400 // message within a message, or entry of a map
	fieldBytes   = 48  // field of a message, or element of a list
	perByte      = 20  // byte of a list of small numbers, which are decoded to eight bytes twice
)

// decoded returns the memory of a message of the given type with the bytes b, when it is decoded. It follows the fields of
// the message, because two bytes may be an empty message.
func decoded(b []byte, of protoreflect.MessageDescriptor) (bytes float64) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return bytes // Unmarshal refuses the rest
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, kind, b)
		if size < 0 {
			return bytes
		}
		bytes += fieldBytes + content(b[:size], kind, of.Fields().ByNumber(number))
		b = b[size:]
	}
	return bytes
}

// content returns the memory of the value of a field beside the memory of any field.
func content(value []byte, kind protowire.Type, field protoreflect.FieldDescriptor) float64 {
	if kind != protowire.BytesType || field == nil {
		return float64(len(value))
	}
	inner, _ := protowire.ConsumeBytes(value)
	switch field.Kind() {
	case protoreflect.MessageKind:
		return messageBytes + decoded(inner, field.Message())
	case protoreflect.StringKind, protoreflect.BytesKind:
		return float64(3 * len(inner)) // the value, its copy and the numbers in it
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return float64(4 * len(inner))
	}
	return float64(perByte * len(inner))
}
