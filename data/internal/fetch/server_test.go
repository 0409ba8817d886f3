package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-valla/valla/internal/fixture"
)

var expectError = fixture.OneLine

// content is what the file "a" holds: long enough for several reads.
var content = bytes.Repeat([]byte("three hundred thousand bytes. "), 10000)

func fileOf(name string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// set is a data set of the file "a".
func set() Dataset { return Dataset{Name: "test", Files: []File{fileOf("a", content)}} }

// A mirror is a server that records the requests to it.
type mirror struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string // the Range header of each request
}

// asked returns the ranges asked for, joined; "" for the whole.
func (m *mirror) asked() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%d: %s", len(m.ranges), strings.Join(m.ranges, ","))
}

// serve starts a mirror that answers request number n (from 0) with answers[n],
// or the last one.
func serve(t *testing.T, answers ...http.HandlerFunc) *mirror {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		n := len(m.ranges)
		m.ranges = append(m.ranges, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
		m.mu.Unlock()
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// good serves content as a file server does, ranges included.
func good(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "a", time.Time{}, bytes.NewReader(content))
}

// bytesOf serves other content in the same manner.
func bytesOf(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a", time.Time{}, bytes.NewReader(content))
	}
}

// wrong has the right size.
var wrong = bytes.Repeat([]byte("x"), len(content))

// whole ignores Range.
func whole(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

// status answers with a code.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "a page", code) }
}

// truncate serves the first n bytes of what would be content, and hangs up.
func truncate(n int, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		bytesOf(content)(&limited{ResponseWriter: w, left: n, then: func() { panic(http.ErrAbortHandler) }}, r)
	}
}

// stall serves the first n bytes and then waits for the client to go.
func stall(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		good(&limited{ResponseWriter: w, left: n, then: func() {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}}, r)
	}
}

// A limited writer does something else instead of writing more than left bytes.
type limited struct {
	http.ResponseWriter
	left int
	then func()
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.ResponseWriter.Write(p[:min(len(p), l.left)])
	if l.left -= n; l.left == 0 {
		l.ResponseWriter.(http.Flusher).Flush()
		l.then()
	}
	return n, err
}

// options returns the options of the tests: a new folder, no waiting.
func options(t *testing.T, mirrors ...*mirror) Options {
	t.Helper()
	o := Options{Dir: filepath.Join(t.TempDir(), "data"), Stall: time.Minute, Pause: time.Nanosecond}
	for _, m := range mirrors {
		o.Mirrors, o.Client = append(o.Mirrors, m.URL), m.Client() // all have the same certificate
	}
	return o
}

// put writes the file called name in the folder of o.
func put(t *testing.T, o Options, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// expectFiles fails unless the folder of o holds just these files.
func expectFiles(t *testing.T, o Options, files map[string][]byte) {
	t.Helper()
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) {
		t.Errorf("the folder holds %v, want %d file(s)", entries, len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes (%v), want %d certain ones", name, len(got), err, len(want))
		}
	}
}

// expectAsked fails unless m was asked for these ranges.
func expectAsked(t *testing.T, m *mirror, want string) {
	t.Helper()
	if got := m.asked(); got != want {
		t.Errorf("mirror was asked for %q, want %q", got, want)
	}
}
