package fetch

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long the tests of stalling wait: much longer than a busy
// machine takes to send a few kilobytes to itself.
const patience = 500 * time.Millisecond

var complete = map[string][]byte{"a": content}

func TestGet(t *testing.T) {
	m := serve(t, good)
	o := options(t, m)
	for range 2 { // the second time all is there
		if err := Get(t.Context(), set(), o); err != nil {
			t.Fatal(err)
		}
		expectFiles(t, o, complete)
	}
	expectAsked(t, m, "1: ")
}

// Zero options stand for the data set's own mirrors. Get asks for the bytes as they are,
// because a client that decompresses would spoil the sums.
func TestZeroOptions(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" || r.URL.Path != "/in/here/a" {
			t.Errorf("asked for %s in the encoding %q", r.URL.Path, got)
		}
		good(w, r)
	})
	standard := http.DefaultTransport
	http.DefaultTransport = m.Client().Transport // which trusts the mirror
	defer func() { http.DefaultTransport = standard }()
	d, o := set(), Options{Dir: t.TempDir()}
	for _, base := range []string{"/in/here", "/in/here/"} {
		d.Mirrors = []string{m.URL + base}
		if err := Get(t.Context(), d, o); err != nil {
			t.Fatal(err)
		}
		expectFiles(t, o, complete)
		if err := os.Remove(filepath.Join(o.Dir, "a")); err != nil {
			t.Fatal(err)
		}
	}
	expectAsked(t, m, "2: ,")
}

// Each row is a first mirror that fails in some way, and a second, good one.
func TestNextMirror(t *testing.T) {
	for name, c := range map[string]struct {
		first  http.HandlerFunc
		second string // what the second is asked for
	}{
		"404":            {status(404), "1: "},
		"500":            {status(500), "1: "},
		"truncates":      {truncate(100000, content), "1: 100000-"},
		"hangs up":       {truncate(0, content), "1: "},
		"wrong bytes":    {bytesOf(wrong), "1: "},
		"short":          {bytesOf(content[:1000]), "1: "},
		"long":           {bytesOf(append(wrong, 'x')), "1: "},
		"page":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("log in first")) }, "1: "},
		"truncated lies": {truncate(100000, wrong), "2: 100000-,"},
		"redirect loop":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "1: "},
	} {
		t.Run(name, func(t *testing.T) {
			second := serve(t, good)
			o := options(t, serve(t, c.first), second)
			if err := Get(t.Context(), set(), o); err != nil {
				t.Fatal(err)
			}
			expectFiles(t, o, complete)
			expectAsked(t, second, c.second)
		})
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	first, second := serve(t, stall(100000)), serve(t, good)
	o := options(t, first, second)
	o.Stall = 50 * time.Millisecond
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
	expectAsked(t, second, "1: 100000-")
}

// A slow mirror is not a stalled one: the time counts from the last byte.
func TestSlow(t *testing.T) {
	t.Parallel()
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 6 {
			_, _ = w.Write(content[i*50000 : (i+1)*50000])
			w.(http.Flusher).Flush()
			time.Sleep(patience / 4)
		}
	})
	o := options(t, m)
	o.Stall = patience
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
	expectAsked(t, m, "1: ")
}

// A server that never answers at all is given up like one that stops.
func TestStallBeforeHeader(t *testing.T) {
	t.Parallel()
	o := options(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	o.Stall, o.Rounds = patience, 1
	err := Get(t.Context(), set(), o)
	expectError(t, err, "stalled after 0 of 300000 bytes: none for 500ms")
	expectFiles(t, o, nil)
}

func TestUnreachable(t *testing.T) {
	gone := serve(t, good)
	gone.Close()
	o := options(t, gone, serve(t, good))
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
}

// Redirects are followed and keep the range that is asked for.
func TestRedirect(t *testing.T) {
	target := serve(t, truncate(200000, content), good)
	o := options(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/elsewhere", http.StatusFound)
	}))
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
	expectAsked(t, target, "2: ,200000-")
}

// The content of a .part decides which bytes are asked for.
func TestResume(t *testing.T) {
	for name, c := range map[string]struct {
		part  []byte
		serve http.HandlerFunc
		asked string
	}{
		"half":                {content[:150000], good, "1: 150000-"},
		"all but one":         {content[:299999], good, "1: 299999-"},
		"all":                 {content, good, "0: "},
		"empty":               {nil, good, "1: "},
		"too long":            {append(content[:300000:300000], 'x'), good, "1: "},
		"other half":          {wrong[:150000], good, "2: 150000-,"},
		"all of another":      {wrong, good, "1: "},
		"range ignored":       {content[:150000], whole, "1: 150000-"},
		"other, also ignored": {wrong[:150000], whole, "1: 150000-"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, c.serve)
			o := options(t, m)
			put(t, o, "a.part", c.part)
			if err := Get(t.Context(), set(), o); err != nil {
				t.Fatal(err)
			}
			expectFiles(t, o, complete)
			expectAsked(t, m, c.asked)
		})
	}
}

// Where the whole comes instead of the rest, the old bytes are gone even if it
// breaks off before it reaches their end.
func TestWholeBreaksOff(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		truncate(100000, content)(w, r)
	})
	o := options(t, m)
	o.Rounds = 1
	put(t, o, "a.part", wrong[:150000])
	expectError(t, Get(t.Context(), set(), o), "broke off after 100000 of 300000 bytes")
	expectFiles(t, o, map[string][]byte{"a.part": content[:100000]})
}

// Answers to a request for the rest that do not fit leave the part alone.
func TestRangeRefused(t *testing.T) {
	ranged := func(given string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", given)
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content[150000:])
		}
	}
	half := map[string][]byte{"a.part": content[:150000]}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		say   string
	}{
		"other start":    {ranged("bytes 0-299999/300000"), `expected the range bytes 150000-299999/300000, found "bytes 0-299999/300000"`},
		"other size":     {ranged("bytes 150000-299999/3000000"), `found "bytes 150000-299999/3000000"`},
		"no range":       {ranged(""), `found ""`},
		"shorter file":   {bytesOf(content[:1000]), "status 416 Requested Range Not Satisfiable"},
		"announced size": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content[:500]) }, "expected 300000 bytes, found 500 announced"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, c.serve)
			o := options(t, m)
			put(t, o, "a.part", content[:150000])
			expectError(t, Get(t.Context(), set(), o), c.say, "(150000 of 300000 bytes are kept in ")
			expectFiles(t, o, half)
			expectAsked(t, m, "1: 150000-")
		})
	}
	o := options(t, serve(t, ranged("bytes 150000-299999/*")))
	put(t, o, "a.part", content[:150000])
	if err := Get(t.Context(), set(), o); err != nil {
		t.Errorf("a range of a file of unknown size: %v", err)
	}
}

// A mirror with a failure that may pass is tried again; after other failures it is not.
func TestRounds(t *testing.T) {
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		asked   string
		ok      bool
	}{
		"recovers":       {[]http.HandlerFunc{status(503), status(429), good}, "3: ,,", true},
		"truncates":      {[]http.HandlerFunc{truncate(100000, content)}, "3: ,100000-,200000-", true},
		"breaks off":     {[]http.HandlerFunc{truncate(70000, content)}, "3: ,70000-,140000-", false},
		"fails":          {[]http.HandlerFunc{status(500)}, "3: ,,", false},
		"has not":        {[]http.HandlerFunc{status(404), good}, "1: ", false},
		"has another":    {[]http.HandlerFunc{bytesOf(wrong), good}, "1: ", false},
		"fails, then no": {[]http.HandlerFunc{status(408), status(403), good}, "2: ,", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, c.answers...)
			o := options(t, m)
			err := Get(t.Context(), set(), o)
			if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrUnavailable)) {
				t.Errorf("error %v, success wanted: %v", err, c.ok)
			}
			expectAsked(t, m, c.asked)
			if c.ok {
				expectFiles(t, o, complete)
			}
		})
	}
}

// A mirror that does not have the file is not asked again while others are.
func TestGivenUp(t *testing.T) {
	never, later := serve(t, status(404)), serve(t, status(500), status(500), good)
	if err := Get(t.Context(), set(), options(t, never, later)); err != nil {
		t.Fatal(err)
	}
	expectAsked(t, never, "1: ")
	expectAsked(t, later, "3: ,,")
}

// The error is one line with the last answer of each mirror, and no file is left but a part
// that can be continued.
func TestEveryMirrorFails(t *testing.T) {
	t.Parallel()
	mirrors := []*mirror{serve(t, status(404)), serve(t, bytesOf(wrong)), serve(t, truncate(90000, content)), serve(t, stall(0))}
	o := options(t, mirrors...)
	o.Rounds, o.Stall = 1, patience
	err := Get(t.Context(), set(), o)
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("error %v, want %v", err, ErrUnavailable)
	}
	expectError(t, err, "fetch test: a: no mirror delivered it: ",
		mirrors[0].URL+": status 404 Not Found; ",
		mirrors[1].URL+": wrong content: expected sha256 "+set().Files[0].SHA256+", found ",
		mirrors[2].URL+": broke off after 90000 of 300000 bytes: unexpected EOF; ",
		mirrors[3].URL+": stalled after 90000 of 300000 bytes: none for 500ms (90000 of 300000 bytes are kept in "+filepath.Join(o.Dir, "a.part"))
	expectFiles(t, o, map[string][]byte{"a.part": content[:90000]})
}

func TestWrongContentLeavesNothing(t *testing.T) {
	o := options(t, serve(t, bytesOf(wrong)))
	expectError(t, Get(t.Context(), set(), o), "expected sha256")
	expectFiles(t, o, nil)
}

// A cancelled download is continued by the next call.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := serve(t, stall(120000), good)
	o := options(t, m)
	go func() { // cancels when the part has grown
		for ctx.Err() == nil {
			if info, err := os.Stat(filepath.Join(o.Dir, "a.part")); err == nil && info.Size() == 120000 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	err := Get(ctx, set(), o)
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
	expectError(t, err, "fetch test: a: context canceled (120000 of 300000 bytes are kept in ")
	expectFiles(t, o, map[string][]byte{"a.part": content[:120000]})
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, complete)
	expectAsked(t, m, "2: ,120000-")
}

// A call that is cancelled in the pause between two rounds returns at once.
func TestCancelInPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		status(500)(w, r)
		time.AfterFunc(20*time.Millisecond, cancel)
	}))
	o.Pause = time.Hour
	if err := Get(ctx, set(), o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// Files with other content are replaced, and files with the right content stay.
func TestOnlyWhatIsMissing(t *testing.T) {
	d := set()
	d.Files = append(d.Files, fileOf("b", content), fileOf("c", content), fileOf("d", []byte("right")))
	m := serve(t, good)
	o := options(t, m)
	put(t, o, "b", wrong)
	put(t, o, "c", []byte("short"))
	put(t, o, "d", []byte("right"))
	expectError(t, d.Files[2].check(filepath.Join(o.Dir, "c")), "expected 300000 bytes, found 5")
	missing, err := d.Missing(o.Dir)
	if err != nil || len(missing) != 3 || missing[0].Name != "a" || missing[1].Name != "b" || missing[2].Name != "c" {
		t.Errorf("missing %v (%v), want a, b, c", missing, err)
	}
	if err := Get(t.Context(), d, o); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, o, map[string][]byte{"a": content, "b": content, "c": content, "d": []byte("right")})
	expectAsked(t, m, "3: ,,")
}

// The disk's failures are no fault of a mirror: no further one is asked.
func TestDiskFails(t *testing.T) {
	m := serve(t, good)
	o := options(t, m, m)
	if err := os.MkdirAll(filepath.Join(o.Dir, "a.part", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := Get(t.Context(), set(), o)
	var path *fs.PathError
	if !errors.As(err, &path) || errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want one of the disk", err)
	}
	put(t, o, "file", nil)
	o.Dir = filepath.Join(o.Dir, "file")
	if err := Get(t.Context(), set(), o); !errors.As(err, &path) {
		t.Errorf("error %v for a folder that is a file", err)
	}
}
