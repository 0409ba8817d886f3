package torch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// The values on the stack are nil, bool, int64, float64, string, tuple, *list, *dict, global,
// storage, stored and mark.
type (
	tuple []any
	list  struct {
		items []any // in their order
	}
	dict struct {
		keys, values []any // in the order in which they were set
	}
	global string // module and name of a class or function
	mark   struct{}
)

func (d *dict) set(k, v any) {
	d.keys, d.values = append(d.keys, k), append(d.values, v)
}

// storage is the data of one or several tensors.
type storage struct {
	kind global // class that says the type of the elements
	key  string // name of the member with the data
}

// stored is a tensor: a view of a storage.
type stored struct {
	storage
	offset        int   // number of the first element in the storage
	shape, stride []int // of each axis: its length, and elements from one index to the next
}

// pickle runs the few operations of Python's pickles that state dictionaries consist of
// (https://docs.python.org/3/library/pickletools.html). It creates plain values only: whatever
// else a pickle asks for is an error.
type pickle struct {
	text  []byte      // what is not read yet
	stack []any       // the values that operations have pushed
	memo  map[int]any // the values that the pickle refers to again, by their numbers
	next  int         // number of the next value that is memoized without one
	err   error       // the first error
}

// load returns the value that a pickle describes.
func load(text []byte) (any, error) {
	p := &pickle{text: text, memo: map[int]any{}}
	for p.err == nil {
		op := p.take(1)
		if p.err != nil {
			break
		}
		if op[0] == '.' { // STOP
			v := p.pop()
			return v, p.err
		}
		p.step(op[0])
	}
	return nil, p.err
}

func (p *pickle) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// take returns the next n bytes, or zeros after an error, at most 8.
func (p *pickle) take(n uint64) []byte {
	if p.err == nil && n > uint64(len(p.text)) {
		p.failf("the pickle ends early: %d bytes expected, %d are left", n, len(p.text))
	}
	if p.err != nil {
		return make([]byte, min(n, 8))
	}
	b := p.text[:n]
	p.text = p.text[n:]
	return b
}

func (p *pickle) line() string {
	i := bytes.IndexByte(p.text, '\n')
	if i < 0 {
		p.failf("the pickle ends in a name")
		return ""
	}
	return string(p.take(uint64(i + 1))[:i])
}

// number reads an unsigned little-endian number of n bytes.
func (p *pickle) number(n uint64) uint64 {
	var b [8]byte
	copy(b[:], p.take(n))
	return binary.LittleEndian.Uint64(b[:])
}

func (p *pickle) push(v any) { p.stack = append(p.stack, v) }

func (p *pickle) pop() any {
	if len(p.stack) == 0 {
		p.failf("the pickle takes a value from an empty stack")
		return nil
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v
}

// top returns the last n values, oldest first, and removes them.
func (p *pickle) top(n int) []any {
	if n > len(p.stack) {
		p.failf("the pickle takes a value from an empty stack")
		return make([]any, n)
	}
	v := p.stack[len(p.stack)-n:]
	p.stack = p.stack[:len(p.stack)-n]
	return append([]any{}, v...)
}

// marked returns the values since the last mark, and removes both.
func (p *pickle) marked() []any {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if _, ok := p.stack[i].(mark); ok {
			v := p.top(len(p.stack) - i)
			return v[1:]
		}
	}
	p.failf("the pickle has no mark")
	return nil
}

// step runs one operation.
func (p *pickle) step(op byte) {
	switch op {
	case 0x80: // PROTO
		p.take(1)
	case 0x95: // FRAME
		p.take(8)
	case '(':
		p.push(mark{})
	case '0': // POP
		p.pop()
	case 'N':
		p.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		p.push(op == 0x88)
	case '}':
		p.push(&dict{})
	case ']':
		p.push(&list{})
	case ')':
		p.push(tuple{})
	case 0x85, 0x86, 0x87: // TUPLE1, 2, 3
		p.push(tuple(p.top(int(op) - 0x84)))
	case 't':
		p.push(tuple(p.marked()))
	case 's', 'u', 'a', 'e':
		p.extend(op)
	case 'c', 0x93, 'R', 'b', 'Q':
		p.object(op)
	case 'q', 'r', 0x94, 'h', 'j':
		p.memory(op)
	default:
		p.constant(op)
	}
}

// constant pushes a number or a text.
func (p *pickle) constant(op byte) {
	switch op {
	case 'K':
		p.push(int64(p.number(1)))
	case 'M':
		p.push(int64(p.number(2)))
	case 'J':
		p.push(int64(int32(p.number(4))))
	case 0x8a: // LONG1
		n := p.number(1)
		if n > 8 {
			p.failf("an integer of %d bytes", n)
			return
		}
		shift := 64 - 8*n
		p.push(int64(p.number(n)<<shift) >> shift)
	case 'G':
		p.push(math.Float64frombits(binary.BigEndian.Uint64(p.take(8))))
	case 'X':
		p.push(string(p.take(p.number(4))))
	case 0x8c: // SHORT_BINUNICODE
		p.push(string(p.take(p.number(1))))
	case 0x8d: // BINUNICODE8
		p.push(string(p.take(p.number(8))))
	default:
		p.failf("operation %#02x of a pickle, which state dictionaries do not need", op)
	}
}

// memory stores the last value under a number or pushes a stored one.
func (p *pickle) memory(op byte) {
	if op == 'h' || op == 'j' {
		n := int(p.number(map[byte]uint64{'h': 1, 'j': 4}[op]))
		v, ok := p.memo[n]
		if !ok {
			p.failf("the pickle refers to value %d, which it does not have", n)
		}
		p.push(v)
		return
	}
	n := p.next
	if op != 0x94 {
		n = int(p.number(map[byte]uint64{'q': 1, 'r': 4}[op]))
	}
	v := p.pop()
	p.memo[n], p.next = v, p.next+1
	p.push(v)
}

// extend puts items into the list or dictionary below them.
func (p *pickle) extend(op byte) {
	var items []any
	switch op {
	case 'a':
		items = p.top(1)
	case 's':
		items = p.top(2)
	default:
		items = p.marked()
	}
	to := p.pop()
	switch to := to.(type) {
	case *list:
		to.items = append(to.items, items...)
	case *dict:
		if len(items)%2 != 0 {
			p.failf("a dictionary with a key that has no value")
			return
		}
		for i := 0; i < len(items); i += 2 {
			to.set(items[i], items[i+1])
		}
	default:
		p.failf("items for a %T, expected a list or a dictionary", to)
	}
	p.push(to)
}

// object makes the few objects of a state dictionary.
func (p *pickle) object(op byte) {
	switch op {
	case 'c':
		module := p.line()
		p.name(module + "." + p.line())
	case 0x93: // STACK_GLOBAL
		v := p.top(2)
		module, ok1 := v[0].(string)
		name, ok2 := v[1].(string)
		if !ok1 || !ok2 {
			p.failf("a class without a name")
		}
		p.name(module + "." + name)
	case 'R':
		args, _ := p.pop().(tuple)
		f, _ := p.pop().(global)
		p.call(f, args)
	case 'b': // BUILD: attributes of a dictionary, such as its versions, say nothing of weights
		p.pop()
		d, ok := p.pop().(*dict)
		if !ok {
			p.failf("attributes of something other than a dictionary")
		}
		p.push(d)
	default: // BINPERSID
		id, _ := p.pop().(tuple)
		if len(id) < 3 || id[0] != "storage" {
			p.failf("a reference to something other than the data of a tensor")
			return
		}
		kind, ok1 := id[1].(global)
		key, ok2 := id[2].(string)
		if _, known := kinds[kind]; !known || !ok1 || !ok2 {
			p.failf("data of a %T, expected a storage of PyTorch", id[1]) // not the value: tuples that hold each other twice grow without end
		}
		p.push(storage{kind, key})
	}
}

// name pushes a class or function that may occur.
func (p *pickle) name(name string) {
	if _, ok := kinds[global(name)]; !ok && !callable[global(name)] {
		p.failf("the file asks for %s: only state dictionaries of tensors are read, and nothing is executed; save model.state_dict()", strconv.Quote(name))
	}
	p.push(global(name))
}

// callable are the functions that make a state dictionary.
var callable = map[global]bool{
	"collections.OrderedDict": true, "torch._utils._rebuild_tensor_v2": true,
	"torch._utils._rebuild_tensor": true, "torch._utils._rebuild_parameter": true,
}

func (p *pickle) call(f global, args tuple) {
	switch {
	case f == "collections.OrderedDict" && len(args) == 0:
		p.push(&dict{})
	case f == "torch._utils._rebuild_parameter" && len(args) > 0:
		p.push(args[0])
	case callable[f] && len(args) >= 4:
		s, ok := args[0].(storage)
		offset, ok2 := args[1].(int64)
		shape, ok3 := ints(args[2])
		stride, ok4 := ints(args[3])
		if !ok || !ok2 || !ok3 || !ok4 {
			p.failf("a tensor of %T, %T, %T and %T, expected data, offset, shape and strides", args[0], args[1], args[2], args[3])
			return
		}
		if len(args) > 6 && !empty(args[6]) {
			p.failf("a tensor of numbers whose sign is stored apart, expected plain numbers; save copies, such as tensor.resolve_neg()")
			return
		}
		p.push(stored{s, int(offset), shape, stride})
	default:
		p.failf("a call of %q with %d arguments", string(f), len(args))
	}
}

// empty reports whether a value is nothing, or a dictionary without keys.
func empty(v any) bool {
	d, ok := v.(*dict)
	return v == nil || ok && len(d.keys) == 0
}

func ints(v any) ([]int, bool) {
	t, ok := v.(tuple)
	out := make([]int, len(t))
	for i, x := range t {
		n, isInt := x.(int64)
		ok = ok && isInt
		out[i] = int(n)
	}
	return out, ok
}
