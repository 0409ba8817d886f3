package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listening is r behind a listener, as valla serve has it, once it has loaded its models, and how
// it ended.
func (r *running) listening() (address string, stop func(), ended chan error) {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.t.Cleanup(stop)
	ended = make(chan error, 1)
	loaded := make(chan struct{})
	go func() {
		ended <- r.Server.Run(ctx, Listeners{HTTP: l}, 50*time.Millisecond, 300*time.Millisecond, func() { close(loaded) })
	}()
	select {
	case <-loaded:
	case err := <-ended:
		r.t.Fatalf("the server ended before it had loaded its models: %v", err)
	}
	return l.Addr().String(), stop, ended
}

// dial opens a connection and sends the beginning of a request.
func dial(t testing.TB, address, text string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// received reads what comes until the server closes the connection, which must be soon.
func received(t testing.TB, c *net.TCPConn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

const row = "[[1,100]]"

// TestSlowClients: a body that does not come in time is refused, and holds neither the server nor
// an old version of its model.
func TestSlowClients(t *testing.T) {
	r := start(t, func(o *Options) { o.Timeout = 200 * time.Millisecond }, "numbers")
	address, _, _ := r.listening()
	var slow []*net.TCPConn
	for range 30 {
		slow = append(slow, dial(t, address, "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n["))
	}
	v := r.Server.models[0].current
	trained(t, "numbers", r.files["numbers"], 5)
	r.Reload(t.Context(), true)
	v.inflight.Wait()
	for _, c := range slow {
		if got := received(t, c); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "the body was not there within 200ms") {
			t.Errorf("a slow client gets %q", got)
		}
	}
	if !strings.Contains(r.metricsText(), `valla_requests_total{model="numbers",status="408"} 30`) {
		t.Error("the metrics do not count the slow clients")
	}
}

// TestEndlessBody: a body without an end is refused as soon as it is too large.
func TestEndlessBody(t *testing.T) {
	r := start(t, func(o *Options) { o.MaxBytes = 10_000 }, "numbers")
	address, _, _ := r.listening()
	c := dial(t, address, "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
	var sent atomic.Int64
	go func() {
		chunk := "400\r\n" + strings.Repeat(" ", 1024) + "\r\n"
		for {
			n, err := io.WriteString(c, chunk)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "HTTP/1.1 413" || sent.Load() > 64<<20 {
		t.Errorf("answer %q after %d bytes, error %v", answer, sent.Load(), err)
	}
}

// TestHalfClosed: a client that closes its side after the request, or in the middle of it, is
// answered or let go at once, and the server goes on.
func TestHalfClosed(t *testing.T) {
	r := start(t, nil, "numbers")
	address, _, _ := r.listening()
	whole := fmt.Sprintf("POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(row), row)
	for text, want := range map[string]string{
		whole:                "HTTP/1.1 200 OK, HTTP/1.1 499 ", // 499 where the end is noticed first
		whole[:len(whole)-3]: "HTTP/1.1 400 Bad Request",
		whole[:30]:           "HTTP/1.1 400 Bad Request",
		"":                   "",
	} {
		for range 20 {
			c := dial(t, address, text)
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got := received(t, c); got != "" && !strings.Contains(want, got[:13]) || got == "" && want != "" {
				t.Errorf("%q: answer %q, expected %q", text, got, want)
			}
		}
	}
	var got map[string]any
	r.post("/predict", row, http.StatusOK, &got)
}

// TestShutdown: requests at hand are answered when the server is told to end, later ones are
// told to go elsewhere, and a client that sends slowly does not hold it up for long.
func TestShutdown(t *testing.T) {
	r := start(t, func(o *Options) { o.Timeout = time.Second }, "numbers")
	address, stop, ended := r.listening()
	dial(t, address, "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n[")
	status := func(path, body string) int {
		a, err := http.Post("http://"+address+path, "application/json", strings.NewReader(body))
		if body == "" {
			a, err = http.Get("http://" + address + path)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.Close != r.Server.draining.Load() {
			t.Errorf("%s: status %d, the connection ends: %v", path, a.StatusCode, a.Close)
		}
		return a.StatusCode
	}
	for status("/predict", row) != http.StatusOK {
		time.Sleep(time.Millisecond)
	}
	stop()
	for range 100 {
		if r.Server.draining.Load() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if s, ready := status("/predict", row), status("/v2/health/ready", ""); s != http.StatusServiceUnavailable || ready != http.StatusServiceUnavailable {
		t.Errorf("while draining: status %d, ready %d, expected 503", s, ready)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "requests were cut off") {
			t.Errorf("error %v, expected one about the slow client", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the slow client holds the server up")
	}
}

// TestLoading: while models are loaded the server lives, is not ready, and asks clients to come
// again. The log has the requests that the server refuses.
func TestLoading(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "m.valla")
	trained(t, "numbers", path, 1)
	s, err := New(Options{Models: []Source{{"numbers", path}}, Reload: -1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, t: t, url: behind(t, s)}
	all := func(want int) {
		t.Helper()
		for _, path := range []string{"/v2/health/ready", "/v2/models/numbers/ready", "/predict"} {
			method := http.MethodGet
			if path == "/predict" {
				method = http.MethodPost
			}
			a, body := r.send(method, path, "application/json", []byte(row))
			if a.StatusCode != want || want != http.StatusOK && (a.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `model \"numbers\" is not loaded`)) {
				t.Errorf("%s: status %d, expected %d: %s", path, a.StatusCode, want, body)
			}
		}
		for _, path := range []string{"/v2/health/live", "/"} {
			if a, _ := r.send(http.MethodGet, path, "", nil); a.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d", path, a.StatusCode)
			}
		}
	}
	all(http.StatusServiceUnavailable)
	if _, page := r.send(http.MethodGet, "/", "", nil); !strings.Contains(string(page), `&#34;models&#34;:[]`) {
		t.Errorf("the page of a server that loads its models: %s", page)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	all(http.StatusOK)
	for _, want := range []string{"msg=refused", "path=/v2/models/numbers/ready status=503", "msg=request", `error="model \"numbers\" is not loaded"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s: %s", want, &log)
		}
	}
}

// TestRunFails: a server whose model cannot be loaded ends with the reason.
func TestRunFails(t *testing.T) {
	s, err := New(Options{Models: []Source{{"m", filepath.Join(t.TempDir(), "none.valla")}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context(), Listeners{HTTP: l}, 0, time.Second, func() { t.Error("all models are loaded") })
	if err == nil || !strings.Contains(err.Error(), "none.valla") {
		t.Errorf("error %v", err)
	}
}
