package serve

import (
	"fmt"
	"math"
	"net/http"

	"github.com/go-valla/valla/internal/listing"
)

// Memory of the numbers of an answer in bytes.
const (
	latentBytes = 16  // number of a latent distribution, in the batch and in the request
	outputBytes = 48  // number of an output with its text, which the body holds again
	cellBytes   = 240 // cell of a row as a JSON object, with its name and its text
)

// reserve plans the memory of an answer for n rows before any work: numbers is how many numbers the answer has, each of
// which takes size bytes. It refuses an answer that is too large, and an answer for which the other answers under way
// leave no room.
func (s *Server) reserve(q *request, n int, numbers, size float64) error {
	c := float64(q.outputs)
	need := float64(n)*(c+c*c)*latentBytes + numbers*size
	if most := s.o.MaxAnswer; need > float64(most) {
		return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("an answer that needs about %s of memory, expected at most %s: ask for fewer rows, samples or outputs", mebibytes(need), mebibytes(float64(most)))}
	}
	q.reserved = int64(need)
	if s.reserved.Add(q.reserved) > answersUnderWay*s.o.MaxAnswer {
		return &refusal{http.StatusTooManyRequests, "other answers need the memory"}
	}
	return nil
}

// answersUnderWay is how many answers of the largest size may be under way at once.
const answersUnderWay = 4

// mebibytes returns a number of bytes for a message.
func mebibytes(bytes float64) string { return fmt.Sprintf("%.3g MiB", math.Max(bytes/(1<<20), 0.1)) }

// planned returns how many numbers the outputs of a request have for each row. An unknown output, an output that is named
// twice, and a wrong parameter are errors.
func (v *version) planned(r *inferRequest) (numbers float64, err error) {
	seen := map[string]bool{}
	for _, asked := range v.wanted(r.Outputs) {
		o, err := v.named(asked.Name)
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
		numbers += each
	}
	return numbers, nil
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

// parametersOf returns the parameters of an output: its own, or else the parameters of the request.
func (r *inferRequest) parametersOf(o requestOutput) map[string]any {
	if o.Parameters == nil {
		return r.Parameters
	}
	return o.Parameters
}

// columnsOf returns how many columns a table of predictions with the options has.
func (v *version) columnsOf(o listing.Options) int {
	if v.classes() != nil {
		return v.outputs + 3 // class, entropy and set
	}
	return v.outputs * (6 + len(o.Quantiles) + len(o.Above))
}
