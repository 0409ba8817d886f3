package command_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// loadTime is how long to load a server, or the test is skipped.
func loadTime(t *testing.T) time.Duration {
	text := os.Getenv("VALLA_LOAD")
	if text == "" {
		t.Skip("no VALLA_LOAD, the time to send requests for, such as 10m")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

// network is a model whose service is measured; it is hardly trained, which makes no difference.
type network struct {
	name, hidden string
	inputs       int
	classes      bool
	fit          []string
}

var networks = []network{
	{"90-200-200-200-1, VaLLA, M = 100", "200,200,200", 90, false, []string{"--inducing", "100", "--iterations", "1"}},
	{"784-200-200-10, VaLLA, M = 100", "200,200", 784, true, []string{"--inducing", "100", "--iterations", "1"}},
	{"11-50-50-1, VaLLA, M = 20", "50,50", 11, false, []string{"--inducing", "20", "--iterations", "1"}},
	{"11-50-50-1, LLA KFAC", "50,50", 11, false, []string{"--method", "lla", "--structure", "kfac"}},
}

// serve starts a server of the network.
func (n network) serve(t *testing.T, args ...string) *served {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	var csv strings.Builder
	for j := range n.inputs {
		fmt.Fprintf(&csv, "x%d,", j)
	}
	csv.WriteString("y\n")
	for i := range 400 {
		for range n.inputs {
			fmt.Fprintf(&csv, "%.3f,", rng.NormFloat64())
		}
		fmt.Fprintln(&csv, i%10)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	train := []string{"train", "rows.csv", "--target", "y", "--hidden", n.hidden, "--iterations", "20", "--out", "map.valla"}
	if n.classes {
		train = append(train, "--classes")
	}
	must(t, dir, train...)
	must(t, dir, append([]string{"fit", "rows.csv", "--model", "map.valla", "--out", "m.valla"}, n.fit...)...)
	return serving(t, dir, append([]string{"--model", "m.valla", "--log", "off"}, args...)...)
}

// requests are different ones of the inference protocol with some rows each, of JSON if there is
// one row, else as bytes.
func (n network) requests(s *served, count, rows int) []vegeta.Target {
	rng, list := rand.New(rand.NewPCG(2, 2)), make([]vegeta.Target, count)
	for i := range list {
		x := make([]float64, rows*n.inputs)
		for j := range x {
			x[j] = math.Round(1000*rng.NormFloat64()) / 1000
		}
		h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {strconv.Itoa(i)}}
		list[i] = vegeta.Target{Method: http.MethodPost, URL: s.url + "/v2/models/m/infer", Header: h}
		tensor := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP64","shape":[%d,%d],`, rows, n.inputs)
		if rows == 1 {
			data, _ := json.Marshal(x)
			list[i].Body = []byte(tensor + `"data":` + string(data) + `}]}`)
			continue
		}
		head := tensor + fmt.Sprintf(`"parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, 8*len(x))
		h["Content-Type"], h["Inference-Header-Content-Length"] = []string{"application/octet-stream"}, []string{strconv.Itoa(len(head))}
		b := bytes.NewBufferString(head)
		_ = binary.Write(b, binary.LittleEndian, x) // into memory
		list[i].Body = b.Bytes()
	}
	return list
}

// attack sends targets in turn with a rate, 0 is as fast as so many workers get their answers, and
// hands each result to see.
func attack(targets []vegeta.Target, freq, workers int, length time.Duration, see func(*vegeta.Result)) {
	var next atomic.Int64
	turn := func(t *vegeta.Target) error {
		*t = targets[int(next.Add(1))%len(targets)]
		t.Header = t.Header.Clone()
		return nil
	}
	a := vegeta.NewAttacker(vegeta.Workers(64), vegeta.MaxWorkers(uint64(workers)), vegeta.Timeout(30*time.Second), vegeta.Connections(workers), vegeta.KeepAlive(true))
	for r := range a.Attack(turn, vegeta.Rate{Freq: freq, Per: time.Second}, length, "") {
		see(r)
	}
}

// capacity returns the requests that are answered in a second at most, and those in a second that
// the server computes on one core.
func capacity(t *testing.T, s *served, targets []vegeta.Target) (inSecond, inCPU float64) {
	t.Helper()
	const length, cpu = 5 * time.Second, "process_cpu_seconds_total"
	count, before := 0.0, s.metric(t, cpu)
	attack(targets, 0, 64, length, func(r *vegeta.Result) {
		if r.Code != http.StatusOK {
			t.Fatalf("status %d: %s %s", r.Code, r.Error, r.Body)
		}
		count++
	})
	return count / length.Seconds(), count / (s.metric(t, cpu) - before)
}

// TestCapacity measures what a server answers in a second, in requests of a row and of many.
func TestCapacity(t *testing.T) {
	loadTime(t)
	for _, n := range networks {
		s := n.serve(t)
		one, oneCPU := capacity(t, s, n.requests(s, 64, 1))
		many, manyCPU := capacity(t, s, n.requests(s, 16, 500))
		t.Logf("%s: rows in a second, and in a CPU second of the server: in requests of 1 row %.0f, %.0f; in requests of 500 %.0f, %.0f",
			n.name, one, oneCPU, 500*many, 500*manyCPU)
		s.end(t)
	}
}

// clients is how many requests are on their way at most, and queue how many the server takes.
const clients, queue = 512, 256

// TestLoad sends requests at twice the rate that the server can answer: each is answered with the
// prediction for its rows or with 429, memory stays level, and the queue bounds the time of those
// that are answered.
func TestLoad(t *testing.T) {
	whole := loadTime(t)
	for rows, length := range map[int]time.Duration{1: whole / 5, 50: whole} {
		s := networks[0].serve(t, "--queue", strconv.Itoa(queue))
		targets := networks[0].requests(s, 64, rows)
		most, _ := capacity(t, s, targets)
		l := &loaded{t: t, served: s, answers: make([]string, len(targets)), counts: map[uint16]int{}}
		attack(targets, int(2*most), clients, length, l.see)
		l.report(rows, most)
		if code := s.end(t); code != 0 {
			t.Errorf("exit code %d: %s", code, &s.err)
		}
	}
}

// loaded gathers results.
type loaded struct {
	t       *testing.T
	served  *served
	answers []string // to each target, the first
	counts  map[uint16]int
	times   []time.Duration // of those that were answered
	memory  []float64       // MB, every second
	queued  []float64       // requests, likewise
	first   time.Time
	last    time.Time
}

func (l *loaded) see(r *vegeta.Result) {
	if l.counts[r.Code]++; l.first.IsZero() {
		l.first = r.Timestamp
	}
	if r.Timestamp.Sub(l.last) > time.Second {
		l.last = r.Timestamp
		l.memory = append(l.memory, l.served.metric(l.t, "process_resident_memory_bytes")/1e6)
		l.queued = append(l.queued, l.served.metric(l.t, `valla_queue_requests{model="m"}`))
	}
	switch r.Code {
	case http.StatusOK:
		l.times = append(l.times, r.Latency)
		id, err := strconv.Atoi(r.Headers.Get("X-Request-Id"))
		if err != nil {
			l.t.Errorf("request id: %v", err)
		} else if l.answers[id] == "" {
			l.answers[id] = string(r.Body)
		} else if !sameAnswer(string(r.Body), l.answers[id]) {
			l.t.Errorf("request %d: answer %.300q, before %.300q", id, r.Body, l.answers[id])
		}
	case http.StatusTooManyRequests:
	default:
		l.t.Errorf("status %d: %s", r.Code, r.Error)
	}
}

// sameAnswer compares answers up to the rounding that depends on the batch.
func sameAnswer(a, b string) bool {
	if a == b {
		return true
	}
	x, y := numbersOf(a), numbersOf(b)
	return len(x) > 0 && slices.EqualFunc(x, y, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(y)) })
}

// numbersOf returns the numbers of an answer, which are in its JSON or are bytes behind the JSON.
func numbersOf(answer string) (out []float64) {
	var a struct{ Outputs []struct{ Data []float64 } }
	d := json.NewDecoder(strings.NewReader(answer))
	if err := d.Decode(&a); err != nil {
		return nil
	}
	for _, o := range a.Outputs {
		out = append(out, o.Data...)
	}
	for rest := answer[d.InputOffset():]; len(rest) >= 8; rest = rest[8:] {
		out = append(out, math.Float64frombits(binary.LittleEndian.Uint64([]byte(rest[:8]))))
	}
	return out
}

// metric returns the value of the server's metric of this name.
func (s *served) metric(t *testing.T, name string) float64 {
	t.Helper()
	a, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			x, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
			return x
		}
	}
	t.Errorf("no metric %s", name)
	return 0
}

// report prints the figures and checks them.
func (l *loaded) report(rows int, most float64) {
	l.t.Helper()
	slices.Sort(l.times)
	n, sum := len(l.times), 0
	for _, c := range l.counts {
		sum += c
	}
	took := l.last.Sub(l.first).Seconds()
	half := len(l.memory) / 2
	early, late := slices.Max(l.memory[:half]), slices.Max(l.memory[half:])
	l.t.Logf("requests of %d rows, capacity %.0f/s: %d in %.0f s, statuses %v; answered: p50 %v, p99 %v, longest %v; %g at hand at most; memory %.0f and then %.0f MB at most",
		rows, most, sum, took, l.counts, l.times[n/2], l.times[n*99/100], l.times[n-1], slices.Max(l.queued), early, late)
	// A full queue at the rate of the answers, and the requests that the server has not
	// looked at. Ten times as much is for a machine that does other work, too; a queue without a
	// bound would take half of the test's time.
	wait := queue*took/float64(n) + clients*took/float64(sum)
	if p99 := l.times[n*99/100].Seconds(); p99 > 10*wait || slices.Max(l.queued) > queue {
		l.t.Errorf("p99 of the answered requests is %.2f s, and the queue is to take %.2f s; %g were at hand, expected at most %d", p99, wait, slices.Max(l.queued), queue)
	}
	if late > 1.2*early+10 {
		l.t.Errorf("the memory has grown from %.0f to %.0f MB", early, late)
	}
}
