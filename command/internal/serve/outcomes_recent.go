package serve

import (
	"container/list"

	"github.com/go-valla/valla"
)

// recent are the predictions of the last requests, which wait for their labels.
type recent struct {
	most   int                      // most rows
	byID   map[string]*list.Element // elements of order by the ids of their requests
	order  *list.List               // elements of the type waiting, the oldest first
	rows   int                      // rows of all
	inputs int                      // numbers of all inputs
}

// kept is the prediction of a request.
type kept struct {
	p valla.Prediction // as the model makes it, before it adapts
	x []float64        // inputs of the rows [n,D]
}

// waiting is the prediction of a request with its id.
type waiting struct {
	kept
	id string
}

// mostInputs is the largest number of inputs of all predictions that wait, 128 MiB.
const mostInputs = 16 << 20

func newRecent(most int) recent {
	return recent{most: most, byID: map[string]*list.Element{}, order: list.New()}
}

// add keeps the predictions of a request until its labels come. The oldest ones go if there are too many.
func (r *recent) add(id string, k kept) {
	r.remove(id)
	r.byID[id] = r.order.PushBack(waiting{k, id})
	r.rows, r.inputs = r.rows+k.p.N(), r.inputs+len(k.x)
	for (r.rows > r.most || r.inputs > mostInputs) && r.order.Len() > 1 {
		r.remove(r.order.Front().Value.(waiting).id)
	}
}

// of returns the predictions of a request, if there are some.
func (r *recent) of(id string) (k kept, ok bool) {
	e, ok := r.byID[id]
	if ok {
		k = e.Value.(waiting).kept
	}
	return k, ok
}

// remove forgets the predictions of a request, if there are some.
func (r *recent) remove(id string) {
	if e, ok := r.byID[id]; ok {
		k := r.order.Remove(e).(waiting)
		r.rows, r.inputs = r.rows-k.p.N(), r.inputs-len(k.x)
		delete(r.byID, id)
	}
}
