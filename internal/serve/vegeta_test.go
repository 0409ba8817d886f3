package serve

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// TestLoad sends more than the server can answer for the time that VALLA_LOAD names, such as
// 10m: every request is answered with 200 or 429, memory stays level, and the queue bounds the
// time of those that are answered.
func TestLoad(t *testing.T) {
	text := os.Getenv("VALLA_LOAD")
	if text == "" {
		t.Skip("no VALLA_LOAD, the time to send requests for")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, nil, "numbers")
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodPost, URL: r.url + "/predict", Body: []byte(`[[1,100]]`), Header: http.Header{"Content-Type": {"application/json"}}})
	capacity := attack(t, target, vegeta.Rate{Freq: 0}, 5*time.Second) // as fast as answers come
	t.Logf("capacity %.0f requests/s", capacity.Throughput)
	before := heap()
	m := attack(t, target, vegeta.Rate{Freq: int(2 * capacity.Throughput), Per: time.Second}, length)
	after := heap()
	t.Logf("%d requests at %.0f/s, statuses %v, p50 %v, p99 %v, longest %v, heap %.1f and then %.1f MB", m.Requests, m.Rate, m.StatusCodes,
		m.Latencies.P50, m.Latencies.P99, m.Latencies.Max, before, after)
	var answered int
	for _, status := range []string{"200", "429"} {
		answered += m.StatusCodes[status]
	}
	if uint64(answered) != m.Requests {
		t.Errorf("%d of %d requests were answered with 200 or 429: %v", answered, m.Requests, m.Errors)
	}
	if after > 2*before+20 {
		t.Errorf("the heap has grown from %.1f to %.1f MB", before, after)
	}
}

func attack(t *testing.T, target vegeta.Targeter, rate vegeta.Rate, length time.Duration) *vegeta.Metrics {
	t.Helper()
	a := vegeta.NewAttacker(vegeta.Workers(64), vegeta.MaxWorkers(512), vegeta.Timeout(30*time.Second))
	var m vegeta.Metrics
	for res := range a.Attack(target, rate, length, fmt.Sprint(rate)) {
		m.Add(res)
	}
	m.Close()
	return &m
}

// heap is the memory in use, in MB, after a collection.
func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc) / 1e6
}
