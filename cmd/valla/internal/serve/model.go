package serve

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/atomicfile"
)

// version is a model file as it was at one time, with the queue of requests to it.
type version struct {
	name    string
	hash    string // of the file, the version in the protocol
	model   *valla.Model
	predict *valla.Predictor
	outputs int     // C
	usual   float64 // see Model.UsualSpread; 0 if unknown
	loaded  time.Time
	queue   *queue

	inflight sync.WaitGroup // requests that have the version
}

// load reads the model at path and tries one prediction.
func load(ctx context.Context, name, path string, o Options) (*version, error) {
	hash, err := hashOf(path)
	if err != nil {
		return nil, err
	}
	m, err := valla.Load(path)
	if err != nil {
		return nil, err
	}
	if now, err := hashOf(path); err != nil || now != hash {
		return nil, fmt.Errorf("%s: the file changed while it was read", path)
	}
	v := &version{name: name, hash: hash, model: m, outputs: m.Task.Outputs.Size(), usual: m.UsualSpread(), loaded: time.Now()}
	if v.predict, err = m.Predictor(valla.PredictorOptions{Memory: o.Memory}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := v.try(ctx); err != nil {
		return nil, fmt.Errorf("%s: a trial prediction: %w", path, err)
	}
	v.queue = newQueue(v, o)
	return v, nil
}

// width is the number of numbers of a row.
func (v *version) width() int { return tensor.Shape(v.model.Task.Inputs.Shape).TotalSize() }

// try predicts the middle of the training data.
func (v *version) try(ctx context.Context) error {
	in, row := v.model.Task.Inputs, make([]float64, v.width())
	run := len(row) / max(1, len(in.Mean))
	for i := range row {
		if in.Mean != nil {
			row[i] = in.Mean[i/run]
		}
	}
	var p valla.Prediction
	return v.predict.Predict(ctx, row, &p)
}

// close ends the version once no request has it any more.
func (v *version) close() {
	v.inflight.Wait()
	v.queue.close()
}

// hashOf returns the first 16 hexadecimal digits of the SHA-256 sum of the file at path.
func hashOf(path string) (string, error) {
	sum, err := atomicfile.Digest(path)
	if err != nil {
		return "", err
	}
	return sum[:16], nil
}

// hosted is a name that the server knows, with the version that answers at present.
type hosted struct {
	name, path string
	room       chan struct{} // has an element for each request at hand

	mu      sync.RWMutex
	current *version // nil while none could be loaded

	reload sync.Mutex // held while the file is read
	seen   stamp      // of the file when it was last read, whether it could be or not
}

// acquire returns the present version, which answers until it is released; nil where there is
// none.
func (h *hosted) acquire() *version {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.current != nil {
		h.current.inflight.Add(1)
	}
	return h.current
}

// enter makes a request one of those at hand, until it leaves, or returns errFull. It is asked before
// the body is parsed, so that a refusal costs little.
func (h *hosted) enter() error {
	select {
	case h.room <- struct{}{}:
		return nil
	default:
		return errFull
	}
}

func (h *hosted) leave() { <-h.room }

// take returns the present version, to be released. hash is that which is expected; "" is any.
func (h *hosted) take(hash string) (*version, error) {
	v := h.acquire()
	if v == nil {
		return nil, &refusal{http.StatusServiceUnavailable, fmt.Sprintf("model %q is not loaded", h.name)}
	}
	if hash != "" && hash != v.hash {
		v.release()
		return nil, &refusal{http.StatusNotFound, fmt.Sprintf("model %q has the version %s, not %q", h.name, v.hash, short(hash))}
	}
	return v, nil
}

// present returns the hash of the version that answers, "" if there is none.
func (h *hosted) present() string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.current == nil {
		return ""
	}
	return h.current.hash
}

// release gives a version back.
func (v *version) release() { v.inflight.Done() }

// replace makes v the version that answers from now on. The old one ends when its last
// request has.
func (h *hosted) replace(v *version) {
	h.mu.Lock()
	old := h.current
	h.current = v
	h.mu.Unlock()
	if old != nil {
		go old.close()
	}
}

// stamp says whether a file is another one than before.
type stamp struct {
	size     int64
	modified time.Time
}

// stampOf returns the zero stamp for a file that cannot be looked at.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}
