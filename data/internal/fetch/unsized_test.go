package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// readable is the check of files of unknown size in these tests.
func readable(path string) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, content) {
		return fmt.Errorf("%s:1: expected three hundred thousand bytes, found %d others", path, len(got))
	}
	return nil
}

// unsized is a data set of the file "a", of which neither size nor sum is known.
func unsized() Dataset {
	return Dataset{Name: "test", Files: []File{{Name: "a", Check: readable}}}
}

// chunked serves content without saying how long it is.
func chunked(w http.ResponseWriter, _ *http.Request) {
	for part := content; len(part) > 0; part = part[min(len(part), 50000):] {
		_, _ = w.Write(part[:min(len(part), 50000)])
		w.(http.Flusher).Flush()
	}
}

// A file of unknown size comes whole, whether or not its length is announced, and is
// kept the next time.
func TestUnsized(t *testing.T) {
	for _, answer := range []http.HandlerFunc{good, chunked} {
		m := serve(t, answer)
		o := options(t, m)
		for range 2 {
			if err := Get(t.Context(), unsized(), o); err != nil {
				t.Fatal(err)
			}
			expectFiles(t, o, complete)
		}
		expectAsked(t, m, "1: ")
	}
}

// What breaks off is not continued, neither by the same call nor from what an earlier
// one left: two parts might be of two versions.
func TestUnsizedStartsAnew(t *testing.T) {
	m := serve(t, truncate(100000, content), good)
	o := options(t, m)
	put(t, o, "a"+partial, []byte("three hundred"))
	if err := Get(t.Context(), unsized(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
	expectAsked(t, m, "2: ,")
}

// Other content is refused with what reading it says, and nothing is left.
func TestUnsizedWrong(t *testing.T) {
	m := serve(t, bytesOf([]byte("<html>moved</html>")))
	o := options(t, m)
	err := Get(t.Context(), unsized(), o)
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ErrUnavailable)
	}
	expectError(t, err, "fetch test: a: ", "wrong content", ":1: expected three hundred thousand bytes, found 18 others")
	expectFiles(t, o, nil)
	expectAsked(t, m, "1: ")
}

func TestUnsizedBreaksOff(t *testing.T) {
	m := serve(t, truncate(100000, content))
	o := options(t, m)
	o.Rounds = 2
	err := Get(t.Context(), unsized(), o)
	expectError(t, err, "broke off after 100000 bytes: unexpected EOF")
	expectFiles(t, o, nil)
	expectAsked(t, m, "2: ,")
}

func TestUnsizedStalls(t *testing.T) {
	m := serve(t, stall(1000))
	o := options(t, m)
	o.Rounds, o.Stall = 1, patience
	expectError(t, Get(t.Context(), unsized(), o), "stalled after 1000 bytes: none for")
}

// A mirror that says nothing has not sent what an earlier one did.
func TestStallAfterPart(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	first, second := serve(t, truncate(100000, content)), serve(t, silent)
	o := options(t, first, second)
	o.Rounds, o.Stall = 1, patience
	expectError(t, Get(t.Context(), unsized(), o), "broke off after 100000 bytes", "stalled after 0 bytes")
}

// Where the folder holds the data in another form, no file is missing.
func TestOr(t *testing.T) {
	d := set()
	d.Files = append(d.Files, fileOf("c", content))
	d.Or = func(dir string) error { return readable(filepath.Join(dir, "b")) }
	o := Options{Dir: t.TempDir()}
	for _, c := range []struct {
		name    string
		content []byte
		missing int
	}{{"b", wrong, 2}, {"a", content, 1}, {"b", content, 0}} {
		put(t, o, c.name, c.content)
		missing, err := d.Missing(o.Dir)
		if err != nil || len(missing) != c.missing {
			t.Errorf("%d files missing (%v), want %d", len(missing), err, c.missing)
		}
	}
}

// Where there is no address, or none that delivers, the error says what to do.
func TestManual(t *testing.T) {
	d := unsized()
	d.Manual = "put a there"
	o := Options{Dir: filepath.Join(t.TempDir(), "data")}
	err := Get(t.Context(), d, o)
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ErrUnavailable)
	}
	expectError(t, err, "no mirror delivered it: it has no public address (folder "+o.Dir+": put a there)")
	o = options(t, serve(t, status(404)))
	expectError(t, Get(t.Context(), d, o), "404", "(folder "+o.Dir+": put a there)")
}

// Without a sum a file comes by HTTPS only, also behind a redirection; with a sum the address
// does not matter.
func TestUnsizedByHTTPS(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(good))
	defer plain.Close()
	to := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL+"/a", http.StatusFound) })
	for _, address := range []string{plain.URL, to.URL} {
		o := options(t, to)
		o.Mirrors = []string{address}
		err := Get(t.Context(), unsized(), o)
		expectError(t, err, "expected https, since no sum of the file is known")
		if err := Get(t.Context(), set(), o); err != nil {
			t.Errorf("%s, with a sum: %v", address, err)
		}
	}
}

// A file of unknown size has a limit, whether or not its length is announced.
func TestUnsizedLimit(t *testing.T) {
	for _, answer := range []http.HandlerFunc{good, chunked} {
		m := serve(t, answer)
		o := options(t, m)
		o.limit = int64(len(content)) - 1
		expectError(t, Get(t.Context(), unsized(), o), "expected at most 299999 bytes, found ")
		expectAsked(t, m, "1: ")
		o.limit++
		if err := Get(t.Context(), unsized(), o); err != nil {
			t.Error(err)
		}
	}
}
