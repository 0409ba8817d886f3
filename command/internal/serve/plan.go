package serve

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"sync/atomic"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/listing"
)

// Memory in bytes that is planned for a request and its answer.
const (
	valueBytes      = 64  // value of a body of text: JSON or a cell of a table
	objectBytes     = 400 // object of a body of JSON
	numberBytes     = 8   // number of a body of bytes
	wordBytes       = 24  // word of a body of bytes, beside its text
	inputBytes      = 16  // number of the inputs, scaled and joined with other requests
	latentBytes     = 16  // number of a latent distribution, in the batch and in the request
	predictionBytes = 64  // target or class of a row of predictions
	outputBytes     = 48  // number of an output, with its text
	cellBytes       = 96  // cell of a row of predictions, with its copies
)

// budget is the memory of all requests under way.
type budget struct {
	each, all int64        // most bytes of a request, and of all requests
	taken     atomic.Int64 // bytes of the requests under way
}

// newBudget returns a budget for a largest request.
func newBudget(each int64) *budget { return &budget{each: each, all: requestsUnderWay * each} }

// requestsUnderWay is how many requests of the largest size may be under way at once.
const requestsUnderWay = 4

// share is the part of a budget that a request has taken.
type share struct {
	of    *budget
	bytes int64 // bytes taken
}

// take plans more bytes of memory, before the memory is used. It refuses a request that becomes too large, and a request
// for which the other requests under way leave no room.
func (s *share) take(bytes float64) error {
	if need := float64(s.bytes) + bytes; !(need <= float64(s.of.each)) {
		return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request and its answer need about %s of memory, expected at most %s: ask for fewer rows, samples or outputs", mebibytes(need), mebibytes(float64(s.of.each)))}
	}
	more := int64(bytes)
	if s.of.taken.Add(more) > s.of.all {
		s.of.taken.Add(-more)
		return &refusal{http.StatusTooManyRequests, "other requests need the memory"}
	}
	s.bytes += more
	return nil
}

// free gives the whole share back.
func (s *share) free() {
	s.of.taken.Add(-s.bytes)
	s.bytes = 0
}

// mebibytes returns a number of bytes for a message.
func mebibytes(bytes float64) string { return fmt.Sprintf("%.3g MiB", math.Max(bytes/(1<<20), 0.1)) }

// parsing returns the memory that a body of text takes while it is parsed. Each value ends at one of the separators.
func parsing(text []byte) float64 {
	values := 1
	for _, separator := range []string{",", ":", "[", "\n", ";", "\t", "|"} {
		values += bytes.Count(text, []byte(separator))
	}
	return float64(values)*valueBytes + float64(bytes.Count(text, []byte("{")))*objectBytes
}

// answerBytes returns the memory of an answer for n rows, where numbers is how many numbers the outputs have, each of which
// takes size bytes.
func (v *version) answerBytes(n int, numbers, size float64) float64 {
	c, each := float64(v.outputs), float64(gp.Covariances(v.model.Task.Likelihood(), v.outputs))
	row := float64(v.width())*inputBytes + (c+c*each)*latentBytes + c*predictionBytes
	return float64(n)*row + numbers*size
}

// planned returns how many numbers the outputs of a request have for each row. An unknown output, an output that is named
// twice, and a wrong parameter are errors.
func (v *version) planned(r *inferRequest) (numbers float64, err error) {
	if err := r.checkParameters(); err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, asked := range v.wanted(r.Outputs) {
		o, err := v.named(asked.Name)
		if err == nil {
			err = o.checkParameters(asked)
		}
		if err != nil {
			return 0, err
		}
		if seen[o.name] {
			return 0, fmt.Errorf("output %q is named twice", o.name)
		}
		seen[o.name] = true
		a := &answer{parameters: r.parametersOf(asked)}
		each := 1.0
		for _, d := range o.row(v) {
			if d < 0 {
				if d, err = o.length(a); err != nil {
					return 0, err
				}
			}
			each *= float64(d)
		}
		if o.name == setName {
			each = v.setNumbers()
		}
		numbers += each
	}
	return numbers, nil
}

// setNumbers returns how many numbers take as much memory as the names of all classes of a set.
func (v *version) setNumbers() float64 {
	size := 0
	for _, name := range v.classNames() {
		size += len(name) + 1
	}
	return 1 + float64(size)/16
}

// wanted returns the outputs that a request asks for. If it asks for none, wanted returns the usual outputs.
func (v *version) wanted(asked []requestOutput) []requestOutput {
	if len(asked) > 0 {
		return asked
	}
	for _, o := range v.offered() {
		if o.usual {
			asked = append(asked, requestOutput{Name: o.name})
		}
	}
	return asked
}

// parametersOf returns the parameters of an output: those of the request, and its own in place of those with the same names.
func (r *inferRequest) parametersOf(o requestOutput) map[string]any {
	if len(o.Parameters) == 0 {
		return r.Parameters
	}
	all := maps.Clone(o.Parameters)
	for name, v := range r.Parameters {
		if _, own := all[name]; !own {
			all[name] = v
		}
	}
	return all
}

// columnsOf returns how many columns a table of predictions with the options has.
func (v *version) columnsOf(o listing.Options) float64 {
	if v.classes() != nil {
		return float64(v.outputs) + 2 + v.setNumbers() // class and entropy
	}
	return float64(v.outputs * (6 + len(o.Quantiles) + len(o.Above)))
}
