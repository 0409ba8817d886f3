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

// version is a model file at one time, and the queue of requests to the model.
type version struct {
	name    string           // name of the model
	hash    string           // start of the file's SHA-256 sum, the version in the protocol
	model   *valla.Model     // model in the file
	predict *valla.Predictor // compiled predictions of the model
	outputs int              // number C of outputs
	usual   float64          // see Model.UsualSpread; 0 if unknown
	loaded  time.Time        // time when the file was read
	queue   *queue           // requests to this version

	outcomes *outcomes      // labels that come back; nil: none do
	former   *outcomes      // labels of the version before, for the rows that it has predicted; nil: none
	drift    *drift         // inputs of predicted rows; nil: not counted
	familiar *drift         // epistemic variances of predicted rows; nil: not counted
	output   *outputDrift   // predictions; nil: not counted
	inflight sync.WaitGroup // requests that hold the version
}

// load reads the model file at path and makes one prediction as a trial.
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
	if o.Runtime != nil {
		if err := m.UseRuntime(ctx, *o.Runtime); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	v := &version{name: name, hash: hash, model: m, outputs: m.Task.Size(), usual: m.UsualSpread(), loaded: time.Now()}
	if v.predict, err = m.Predictor(valla.PredictorOptions{Memory: o.Memory}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := v.try(ctx); err != nil {
		return nil, fmt.Errorf("%s: a trial prediction: %w", path, err)
	}
	v.queue = newQueue(v, o)
	return v, nil
}

// width returns the number D of inputs of a row.
func (v *version) width() int { return tensor.Shape(v.model.Task.Inputs.Shape).TotalSize() }

// try makes a prediction at the mean of the training inputs. Where this is not known it is at zeros, or else at ones,
// because a network may divide by a sum of its inputs.
func (v *version) try(ctx context.Context) error {
	in, row := v.model.Task.Inputs, make([]float64, v.width())
	run := len(row) / max(1, len(in.Mean))
	for i := range row {
		if in.Mean != nil {
			row[i] = in.Mean[i/run]
		}
	}
	var p valla.Prediction
	err := v.predict.Predict(ctx, row, &p)
	if err == nil || in.Mean != nil || ctx.Err() != nil {
		return err
	}
	for i := range row {
		row[i] = 1
	}
	return v.predict.Predict(ctx, row, &p)
}

// close waits until no request holds the version, and closes its queue and the labels that only it has used. A nil version has nothing
// to close.
func (v *version) close() {
	if v != nil {
		v.inflight.Wait()
		v.queue.close()
		v.outcomes.release()
		v.former.release()
	}
}

// before returns the labels of the version before a version with the given hash that comes after v. Where this has the file of v again, it
// is the version before v.
func (v *version) before(hash string) *outcomes {
	if v.hash == hash {
		return v.former
	}
	return v.outcomes
}

// hashOf returns the first 16 hexadecimal digits of the SHA-256 sum of the file at path.
func hashOf(path string) (string, error) {
	sum, err := atomicfile.Digest(path)
	if err != nil {
		return "", err
	}
	return sum[:16], nil
}

// hosted is a model that the server offers, with the version that answers at present.
type hosted struct {
	name string        // name of the model
	path string        // path of the model file
	room chan struct{} // has an element for each unanswered request

	mu      sync.RWMutex // guards current
	current *version     // version that answers; nil if none is loaded

	reload sync.Mutex // held while the file is read
	books  *books     // labels of the versions in use
	seen   stamp      // stamp of the file at the last attempt to read it
}

// acquire returns the present version, which stays open until the caller releases it, or nil if no
// version is loaded.
func (h *hosted) acquire() *version {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.current != nil {
		h.current.inflight.Add(1)
	}
	return h.current
}

// enter counts a request as unanswered until leave is called, or returns errFull if there are too many.
// It is called before the body is parsed, so that a refusal costs little.
func (h *hosted) enter() error {
	select {
	case h.room <- struct{}{}:
		return nil
	default:
		return errFull
	}
}

// leave ends a request that has entered.
func (h *hosted) leave() { <-h.room }

// take returns the present version, which the caller must release. If hash is not "", another version
// than hash is an error.
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

// present returns the hash of the version that answers, or "" if no version is loaded.
func (h *hosted) present() string {
	v := h.acquire()
	if v == nil {
		return ""
	}
	defer v.release()
	return v.hash
}

// release ends the use of the version by a request.
func (v *version) release() { v.inflight.Done() }

// swap makes v the version that answers, and returns the version before, or nil. The caller closes the
// version before.
func (h *hosted) swap(v *version) *version {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.current
	h.current = v
	return old
}

// stamp shows whether a file has changed.
type stamp struct {
	size     int64     // bytes of the file
	modified time.Time // time of the last change
}

// stampOf returns the stamp of the file at path, and the zero stamp if there is no such file.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}
