package serve

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-valla/valla/internal/listing"
)

// blockBytes is the number of bytes from which on a block of an answer is sent.
const blockBytes = 64 << 10

// blocks sends an answer block by block, so that the whole text of a large answer is never in memory. The first error of the
// connection ends the work.
type blocks struct {
	w     http.ResponseWriter // receives the blocks
	block []byte              // bytes that are not sent yet
	whole bool                // whether all bytes are kept until end
	sent  bool                // whether a block was sent
	err   error               // first error of the connection
}

// next sends the block if it is full. It returns false if nobody receives the answer any more.
func (b *blocks) next() bool {
	if len(b.block) >= blockBytes && !b.whole {
		b.flush()
	}
	return b.err == nil
}

// flush sends the block.
func (b *blocks) flush() {
	if b.err == nil {
		_, b.err = b.w.Write(b.block)
	}
	b.block, b.sent = b.block[:0], true
}

// end sends the last block. An answer of a single block tells its length.
func (b *blocks) end() {
	if !b.sent {
		b.w.Header().Set("Content-Length", strconv.Itoa(len(b.block)))
	}
	b.flush()
}

// text appends a text that is JSON.
func (b *blocks) text(s string) { b.block = append(b.block, s...) }

// json appends a value as JSON.
func (b *blocks) json(v any) {
	text, err := json.Marshal(v)
	if err != nil { // such values have no error
		panic(err)
	}
	b.block = append(b.block, text...)
}

// open appends an object as JSON without its last brace, so that more keys can follow.
func (b *blocks) open(v any) {
	b.json(v)
	b.block = b.block[:len(b.block)-1]
}

// list appends n values as a list of JSON.
func (b *blocks) list(n int, value func(i int)) {
	b.text("[")
	for i := 0; i < n && b.next(); i++ {
		if i > 0 {
			b.text(",")
		}
		value(i)
	}
	b.text("]")
}

// data appends the elements of a tensor as JSON, where numbers that are not finite are null.
func (b *blocks) data(values any) {
	switch v := values.(type) {
	case []float64:
		b.list(len(v), func(i int) { b.block = listing.AppendNumber(b.block, v[i]) })
	case []string:
		b.list(len(v), func(i int) { b.json(v[i]) })
	}
}

// raw appends the elements of a tensor in the encoding of the binary extension.
func (b *blocks) raw(values any) {
	switch v := values.(type) {
	case []float64:
		for i := 0; i < len(v) && b.next(); i++ {
			b.block = binary.LittleEndian.AppendUint64(b.block, math.Float64bits(v[i]))
		}
	case []string:
		for i := 0; i < len(v) && b.next(); i++ {
			b.block = append(binary.LittleEndian.AppendUint32(b.block, uint32(len(v[i]))), v[i]...)
		}
	}
}

// size returns the number of bytes of the elements in the encoding of the binary extension.
func (t *outputTensor) size() (n int) {
	switch v := t.Data.(type) {
	case []float64:
		n = 8 * len(v)
	case []string:
		for _, s := range v {
			n += 4 + len(s)
		}
	}
	return n
}

// response appends a response as JSON. The elements of an output whose element of binaries is true do not belong to the JSON.
func (b *blocks) response(r *inferResponse, binaries []bool) {
	head := *r
	head.Outputs = nil
	b.open(head)
	b.block = b.block[:len(b.block)-len("null")]
	b.list(len(r.Outputs), func(i int) {
		t := r.Outputs[i]
		t.Data = nil
		if binaries[i] {
			t.Parameters = map[string]any{"binary_data_size": r.Outputs[i].size()}
			b.json(t)
			return
		}
		b.open(t)
		b.text(`,"data":`)
		b.data(r.Outputs[i].Data)
		b.text("}")
	})
	b.text("}")
}

// send writes the response out to r. Outputs for which r asks in binary form follow as bytes.
func (q *request) send(out *inferResponse, r *inferRequest) {
	binaries := make([]bool, len(out.Outputs))
	for i := range binaries {
		binaries[i] = flag(r.Parameters, "binary_data_output")
		if i < len(r.Outputs) {
			if own, ok := r.Outputs[i].Parameters["binary_data"].(bool); ok {
				binaries[i] = own
			}
		}
	}
	q.w.Header().Set("Content-Type", "application/json")
	b := &blocks{w: q.w, whole: slices.Contains(binaries, true)} // the length of the JSON comes before the bytes
	b.response(out, binaries)
	if b.whole {
		q.w.Header().Set("Content-Type", "application/octet-stream")
		q.w.Header().Set(headerLength, strconv.Itoa(len(b.block)))
		size := len(b.block)
		for i, t := range out.Outputs {
			if binaries[i] {
				size += t.size()
			}
		}
		q.w.Header().Set("Content-Length", strconv.Itoa(size))
		b.whole = false
	}
	for i, t := range out.Outputs {
		if binaries[i] {
			b.raw(t.Data)
		}
	}
	b.end()
}

// sendObjects answers with one JSON object for each row.
func (q *request) sendObjects(table *listing.Predictions) {
	q.w.Header().Set("Content-Type", "application/json")
	b := &blocks{w: q.w}
	b.open(map[string]string{"model": q.name, "version": q.hash})
	b.text(`,"predictions":`)
	names := make([]string, len(table.Columns))
	for k, c := range table.Columns {
		name, _ := json.Marshal(c.Name) // a text has no error
		names[k] = string(name) + ":"
	}
	b.list(table.Rows, func(i int) {
		for k, c := range table.Columns {
			b.text(separator(k))
			b.text(names[k])
			if c.Texts != nil {
				b.json(c.Texts[i])
			} else {
				b.block = listing.AppendNumber(b.block, c.Values[i])
			}
		}
		b.text("}")
	})
	b.text("}\n")
	b.end()
}

// separator returns what stands before the key with number k of an object.
func separator(k int) string {
	if k == 0 {
		return "{"
	}
	return ","
}
