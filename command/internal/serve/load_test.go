package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-valla/valla/internal/atomicfile"
)

// TestBatches: requests that wait together are computed together, with the bits that they
// have alone, and one that fails does not harm the others.
func TestBatches(t *testing.T) {
	r := start(t, func(o *Options) { o.BatchDelay, o.BatchRows = 20*time.Millisecond, 40 }, "numbers")
	var work sync.WaitGroup
	for i := range 64 {
		work.Go(func() {
			x := []float64{float64(i)/20 - 1, 100 + float64(i)}
			var got struct {
				Predictions []map[string]float64 `json:"predictions"`
			}
			body, err := json.Marshal([][]float64{x})
			if err != nil {
				t.Error(err)
			}
			a, err := http.Post(r.url+"/predict", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Body.Close()
			if err := json.NewDecoder(a.Body).Decode(&got); err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("status %d, error %v", a.StatusCode, err)
				return
			}
			v := r.Server.models[0].acquire()
			defer v.release()
			g, err := v.queue.latents(t.Context(), x, 1)
			if err != nil || len(g.Mean) != 1 {
				t.Errorf("%v, error %v", g, err)
			}
		})
	}
	work.Wait()
	text := r.metricsText()
	for _, want := range []string{`valla_requests_total{model="numbers",status="200"} 64`, `valla_rows_total{model="numbers"} 64`, `valla_batch_rows_sum{model="numbers"} 128`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	if strings.Contains(text, `valla_batch_rows_count{model="numbers"} 128`) {
		t.Error("no two requests were computed together")
	}
}

func (r *running) metricsText() string {
	_, body := r.send(http.MethodGet, "/metrics", "", nil)
	return string(body)
}

// TestDrift: rows far from the training rows are counted, and hardly any other rows.
func TestDrift(t *testing.T) {
	r := start(t, nil)
	for kind := range r.models {
		usual, err := json.Marshal(map[string]any{"rows": rowsOf(table(kind, 80, uint64(slices.Index([]string{"numbers", "pairs", "classes"}, kind))).X.Float64s())})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		for _, c := range []struct {
			body      string
			low, high float64
		}{{string(usual), 0, 2}, {`{"rows":[[30,100],[0,900],[-50,-500]]}`, 3, 5}} {
			r.post("/models/"+kind+"/predict", c.body, http.StatusOK, &got)
			n, row := 0.0, fmt.Sprintf("valla_unusual_rows_total{model=%q} ", kind)
			for line := range strings.Lines(r.metricsText()) {
				if v, ok := strings.CutPrefix(line, row); ok {
					n, _ = strconv.ParseFloat(strings.TrimSpace(v), 64)
				}
			}
			if n < c.low || n > c.high {
				t.Errorf("%s: %g unusual rows, expected %g to %g", kind, n, c.low, c.high)
			}
		}
	}
}

// rowsOf are rows of two columns.
func rowsOf(x []float64) (rows [][]float64) {
	for row := range slices.Chunk(x, 2) {
		rows = append(rows, row)
	}
	return rows
}

// TestBatchOfOneBad: a batch in which one request cannot be computed is computed one by one.
func TestBatchOfOneBad(t *testing.T) {
	r := start(t, nil, "numbers")
	v := r.Server.models[0].acquire()
	defer v.release()
	var b batch
	jobs := []*job{{x: []float64{0, 100}, n: 1}, {x: []float64{1e308, 1e308}, n: 1}, {x: []float64{1, 100}, n: 1}}
	for _, j := range jobs {
		j.ctx, j.end = t.Context(), make(chan struct{})
		b.add(j)
	}
	jobs[1].x = []float64{0} // half a row
	b.run(v)
	if jobs[0].err != nil || jobs[2].err != nil || jobs[1].err == nil {
		t.Errorf("errors %v, %v, %v", jobs[0].err, jobs[1].err, jobs[2].err)
	}
	want := r.predicted("numbers", 0, 100, 1, 100)
	_, std := v.units()
	same(t, "latent variances", []float64{jobs[0].g.Cov[0], jobs[2].g.Cov[0]}, []float64{want.Latent[0] / sq(std[0]), want.Latent[1] / sq(std[0])})
}

func sq(x float64) float64 { return x * x }

// TestFullQueue: a request that finds no room is refused at once; one that nobody waits for
// any more is not computed.
func TestFullQueue(t *testing.T) {
	r := start(t, func(o *Options) { o.Queue, o.Timeout = 1, 50*time.Millisecond }, "numbers")
	v := r.Server.models[0].current
	v.queue.close() // its workers are gone: nothing is computed
	v.queue.jobs = make(chan *job, 1)
	var got failure
	r.post("/predict", `[[1,100]]`, http.StatusServiceUnavailable, &got)
	has(t, "nobody works", got.Error, "the request took too long")
	a, body := r.send(http.MethodPost, "/predict", "application/json", []byte(`[[1,100]]`))
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "the queue is full") {
		t.Errorf("status %d, Retry-After %q: %s", a.StatusCode, a.Header.Get("Retry-After"), body)
	}
	var b batch
	b.add(<-v.queue.jobs)
	if len(b.jobs) != 0 {
		t.Error("a request was computed that nobody waits for")
	}
	v.queue.jobs = make(chan *job)
}

// reloads is how often TestReload exchanges a file: VALLA_RELOADS, or a few times.
func reloads(t *testing.T) int {
	text := os.Getenv("VALLA_RELOADS")
	if text == "" {
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReload: a changed file is loaded, a damaged one is not, and while files are exchanged
// under load every answer comes from the version that the answer names.
func TestReload(t *testing.T) {
	r := start(t, nil, "numbers")
	path := r.files["numbers"]
	other := t.TempDir() + "/other.valla"
	means := map[string]float64{r.Server.models[0].present(): r.predicted("numbers", 1, 100).Mean[0]}
	r.models["numbers"] = trained(t, "numbers", other, 99)
	hash, err := hashOf(other)
	if err != nil {
		t.Fatal(err)
	}
	means[hash] = r.predicted("numbers", 1, 100).Mean[0]
	files := [2][]byte{read(t, path), read(t, other)}
	before := r.Server.models[0].present()
	put(t, path, files[1][:len(files[1])/2])
	r.Reload(t.Context(), false)
	if now := r.Server.models[0].present(); now != before {
		t.Errorf("after a damaged file: version %s, before %s", now, before)
	}
	put(t, path, files[1])
	r.Reload(t.Context(), false)
	if now := r.Server.models[0].present(); now != hash {
		t.Errorf("after another file: version %s, expected %s", now, hash)
	}
	x := exchange{running: r, means: means, seen: map[string]int{}}
	loaded, failed := x.run(t, path, files, reloads(t))
	text := r.metricsText()
	for result, n := range map[string]int{"loaded": 1 + loaded, "failed": 1 + failed} {
		if want := fmt.Sprintf(`valla_reloads_total{model="numbers",result=%q} %d`, result, n); !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// exchange replaces a file under load.
type exchange struct {
	*running
	means map[string]float64 // that each version answers
	mu    sync.Mutex
	seen  map[string]int // answers, by version
	busy  int            // answers with 429
}

// run replaces the file many times, sometimes by a damaged one, and counts how often it was loaded.
func (x *exchange) run(t *testing.T, path string, files [2][]byte, times int) (loaded, failed int) {
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for ctx.Err() == nil {
				x.ask(t)
			}
		})
	}
	for i := range times {
		file := files[i%2]
		if i%5 == 4 {
			file = file[:len(file)*3/4]
			failed++
		} else {
			loaded++
		}
		put(t, path, file)
		x.Reload(t.Context(), true)
	}
	stop()
	work.Wait()
	if len(x.seen) != 2 {
		t.Errorf("answers of the versions %v, expected two", x.seen)
	}
	t.Logf("answers while the file was exchanged %d times: %v, and %d with status 429", times, x.seen, x.busy)
	return loaded, failed
}

// ask sends a request and checks its answer.
func (x *exchange) ask(t *testing.T) {
	a, err := http.Post(x.url+"/predict", "application/json", strings.NewReader(row))
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Body.Close()
	var got struct {
		Version     string               `json:"version"`
		Predictions []map[string]float64 `json:"predictions"`
	}
	err = json.NewDecoder(a.Body).Decode(&got)
	x.mu.Lock()
	defer x.mu.Unlock()
	want, known := x.means[got.Version]
	switch {
	case a.StatusCode == http.StatusTooManyRequests:
		x.busy++
	case err != nil || a.StatusCode != http.StatusOK || len(got.Predictions) != 1 || !known:
		t.Errorf("status %d, version %s: %v; error %v", a.StatusCode, got.Version, got.Predictions, err)
	case math.Abs(got.Predictions[0]["mean"]-want) > 1e-9: // rounding depends on the batch
		t.Errorf("version %s: mean %g, expected %g", got.Version, got.Predictions[0]["mean"], want)
	default:
		x.seen[got.Version]++
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		t.Fatal(err)
	}
}

// TestWatch: a changed file is noticed without being told of.
func TestWatch(t *testing.T) {
	r := start(t, func(o *Options) { o.Reload = 5 * time.Millisecond }, "numbers")
	before := r.Server.models[0].present()
	trained(t, "numbers", r.files["numbers"], 5)
	for range 1000 {
		if r.Server.models[0].present() != before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the new file was not loaded")
}
