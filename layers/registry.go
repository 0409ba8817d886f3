package layers

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/strictjson"
)

// registry finds the Go type for the kind that a JSON object states.
type registry[T any] struct {
	what   string                                    // layer or form, in messages
	decode map[string]func(fields []byte) (T, error) // decoders by kinds
	names  map[reflect.Type]string                   // kinds by types
}

func newRegistry[T any](what string) registry[T] {
	return registry[T]{what, map[string]func([]byte) (T, error){}, map[reflect.Type]string{}}
}

func (r registry[T]) kinds() []string { return slices.Sorted(maps.Keys(r.decode)) }

// register adds a kind and, unless typ is nil, the type that has the kind.
func (r registry[T]) register(kind string, typ reflect.Type, decode func(fields []byte) (T, error)) {
	if kind == "" || r.decode[kind] != nil || r.names[typ] != "" {
		panic(fmt.Sprintf("layers: the kind %q of a %s is empty, or the kind or its type %v is registered twice", kind, r.what, typ))
	}
	r.decode[kind] = decode
	if typ != nil {
		r.names[typ] = kind
	}
}

func (r registry[T]) known(kind string) error {
	if r.decode[kind] != nil {
		return nil
	}
	return fmt.Errorf("unknown kind %q of %s; known are %s", kind, r.what, strings.Join(r.kinds(), ", "))
}

// marshal returns the JSON object of v with its kind as the first member.
func (r registry[T]) marshal(kind string, v any) ([]byte, error) {
	if err := r.known(kind); err != nil {
		return nil, err
	}
	fields, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", r.what, kind, err)
	}
	if len(fields) < 2 || fields[0] != '{' {
		return nil, fmt.Errorf("%s %q: its JSON must be an object", r.what, kind)
	}
	head := fmt.Appendf(nil, `{"kind":%q`, kind)
	if len(fields) > 2 {
		head = append(head, ',')
	}
	return append(head, fields[1:]...), nil
}

// unmarshal takes the kind off the object and decodes the rest as that kind says.
func (r registry[T]) unmarshal(data []byte) (T, error) {
	var none T
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return none, fmt.Errorf("%s: %w", r.what, err)
	}
	var kind string
	if err := json.Unmarshal(fields["kind"], &kind); err != nil {
		return none, fmt.Errorf("%s: expected a field \"kind\", one of %s", r.what, strings.Join(r.kinds(), ", "))
	}
	if err := r.known(kind); err != nil {
		return none, err
	}
	delete(fields, "kind")
	rest, err := json.Marshal(fields)
	if err != nil {
		return none, fmt.Errorf("%s %q: %w", r.what, kind, err)
	}
	v, err := r.decode[kind](rest)
	if err != nil {
		return none, fmt.Errorf("%s %q: %w", r.what, kind, err)
	}
	return v, nil
}

// decodeStrict decodes a JSON value, see [strictjson.Decode].
func decodeStrict[T any](data []byte) (v T, err error) {
	err = strictjson.Decode(data, &v)
	return v, err
}
