package serve

import (
	"slices"

	"github.com/go-valla/valla"
)

// recent are the predictions of the last requests, which wait for their labels.
type recent struct {
	most   int             // most rows
	byID   map[string]kept // predictions of requests by their ids
	order  []string        // ids, the oldest first
	rows   int             // rows of all
	inputs int             // numbers of all inputs
}

// kept is the prediction of a request.
type kept struct {
	p valla.Prediction // as the model makes it, before it adapts
	x []float64        // inputs of the rows [n,D]
}

// mostInputs is the largest number of inputs of all predictions that wait, 128 MiB.
const mostInputs = 16 << 20

func newRecent(most int) recent { return recent{most: most, byID: map[string]kept{}} }

// add keeps the predictions of a request until its labels come. The oldest ones go if there are too many.
func (r *recent) add(id string, k kept) {
	r.remove(id)
	r.byID[id], r.order = k, append(r.order, id)
	r.rows, r.inputs = r.rows+k.p.N(), r.inputs+len(k.x)
	for (r.rows > r.most || r.inputs > mostInputs) && len(r.order) > 1 {
		oldest := r.order[0]
		r.order = r.order[1:]
		r.drop(oldest)
	}
}

// remove forgets the predictions of a request, if there are some.
func (r *recent) remove(id string) {
	if _, ok := r.byID[id]; ok {
		r.drop(id)
		r.order = slices.DeleteFunc(r.order, func(other string) bool { return other == id })
	}
}

// drop takes the predictions of a request, which is not in the order any more, out.
func (r *recent) drop(id string) {
	k := r.byID[id]
	r.rows, r.inputs = r.rows-k.p.N(), r.inputs-len(k.x)
	delete(r.byID, id)
}
