package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// versions are model files that a server exchanges while it takes outcomes.
type versions struct {
	*running
	dir   string   // folder of the labels
	files [][]byte // contents of the model files
}

// exchanging is a server of the first of n model files.
func exchanging(t *testing.T, n int) *versions {
	t.Helper()
	v := &versions{dir: t.TempDir()}
	v.running = start(t, func(o *Options) { o.Outcomes = v.dir }, "numbers")
	for seed := range n {
		path := v.running.files["numbers"]
		if seed > 0 {
			path = filepath.Join(t.TempDir(), "m.valla")
			trained(t, "numbers", path, uint64(seed))
		}
		v.files = append(v.files, read(t, path))
	}
	return v
}

// exchange makes the server answer with file k.
func (v *versions) exchange(k int) {
	v.t.Helper()
	put(v.t, v.running.files["numbers"], v.files[k])
	v.Reload(v.t.Context(), true)
}

// ask sends a request of two rows with an id.
func (v *versions) ask(id string) {
	v.t.Helper()
	if a, body := v.send(http.MethodPost, "/predict", "application/json", []byte("[[0.5,100],[1,90]]"), "X-Request-Id", id); a.StatusCode != http.StatusOK {
		v.t.Errorf("status %d: %s", a.StatusCode, body)
	}
}

// label sends the label of a row and returns the answer.
func (v *versions) label(id string, row, status int) (now state) {
	v.t.Helper()
	v.post("/outcomes", fmt.Sprintf(`[{"id":%q,"row":%d,"target":4}]`, id, row), status, &now)
	return now
}

// lines returns how many labels of requests with ids are in the files, by versions, and all.
func (v *versions) lines() (by map[string]int, all int) {
	v.t.Helper()
	files, err := filepath.Glob(filepath.Join(v.dir, "*.jsonl"))
	if err != nil {
		v.t.Fatal(err)
	}
	by = map[string]int{}
	for _, file := range files {
		var h logHead
		text := read(v.t, file)
		if err := json.Unmarshal(text[:bytes.IndexByte(text, '\n')], &h); err != nil {
			v.t.Fatal(err)
		}
		by[h.Version] = bytes.Count(text, []byte(`"id":`))
		all += by[h.Version]
	}
	return by, all
}

// inUse returns for how many versions labels are in memory or, where the system tells it and it is more, in open files.
func (v *versions) inUse() (files int) {
	links, _ := filepath.Glob("/proc/self/fd/*") // none without such a folder
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, v.dir) {
			files++
		}
	}
	b := v.Server.models[0].books
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(files, len(b.byHash))
}

// TestOutcomesOfTheVersionBefore: a label by id belongs to the version that has predicted the row, the present one or the one before. Another
// reading of the same file is no new version, and a version that returns goes on with its labels.
func TestOutcomesOfTheVersionBefore(t *testing.T) {
	v := exchanging(t, 3)
	first := v.Server.models[0].present()
	v.ask("a")
	v.exchange(1)
	second := v.Server.models[0].present()
	v.exchange(1)
	v.ask("b")
	if now := v.label("a", 0, http.StatusOK); now.Added != 1 || now.Labels != 0 {
		t.Errorf("a label of the version before: %+v, expected none of the present one", now)
	}
	if now := v.label("b", 0, http.StatusOK); now.Added != 1 || now.Labels != 1 {
		t.Errorf("a label of the present version: %+v", now)
	}
	for _, id := range []string{"a", "b"} {
		if now := v.label(id, 0, http.StatusOK); now.Added != 0 {
			t.Errorf("the label of %q twice: %+v", id, now)
		}
	}
	var both state
	if v.post("/outcomes", `[{"id":"b","row":1,"target":4},{"id":"a","row":1,"target":4}]`, http.StatusOK, &both); both.Added != 2 || both.Labels != 2 {
		t.Errorf("labels of two versions: %+v", both)
	}
	if by, _ := v.lines(); by[first] != 2 || by[second] != 2 {
		t.Errorf("labels in the files %v, expected two of %s and two of %s", by, first, second)
	}
	if !strings.Contains(v.metricsText(), `valla_outcomes_total{model="numbers"} 4`) {
		t.Error("the metrics do not count labels of the version before")
	}
	v.exchange(0)
	v.ask("a")
	if now := v.label("a", 0, http.StatusOK); now.Labels != 2 || now.Added != 0 {
		t.Errorf("after the return of a version: %+v, expected its two labels", now)
	}
	v.ask("c")
	v.exchange(2)
	if strings.Contains(v.metricsText(), "valla_interval_width{") {
		t.Error("the metrics of a new version have the width of an interval of the version before")
	}
	v.exchange(1)
	var got failure
	v.post("/outcomes", `[{"id":"c","row":0,"target":4}]`, http.StatusNotFound, &got)
	has(t, "two versions ago", got.Error, "no prediction of the request")
}

// TestOutcomesOfManyVersions: however many versions there were, the labels of two are in memory, with an open file each, and none at the end.
func TestOutcomesOfManyVersions(t *testing.T) {
	v := exchanging(t, 5)
	for range 2 {
		for k := range v.files {
			v.exchange(k)
			v.ask("a")
			v.label("a", 0, http.StatusOK)
		}
	}
	atMost := func(most int) {
		t.Helper()
		for range 1000 { // former versions end beside the requests
			if v.inUse() <= most {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("labels of %d versions, expected %d at most", v.inUse(), most)
	}
	atMost(2)
	v.Server.Close()
	atMost(0)
	if _, all := v.lines(); all != len(v.files) {
		t.Errorf("%d labels, expected one of each of %d versions: the same row of the same id", all, len(v.files))
	}
}

// TestOutcomesReload: while versions are exchanged under load, each label that has its answer is in a file.
func TestOutcomesReload(t *testing.T) {
	v := exchanging(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var mu sync.Mutex
	added, gone := 0, 0
	for worker := range 4 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprint(worker, "-", i)
				v.ask(id)
				a, body := v.send(http.MethodPost, "/outcomes", "application/json", fmt.Appendf(nil, `[{"id":%q,"target":4}]`, id))
				var now state
				mu.Lock()
				switch err := json.Unmarshal(body, &now); {
				case a.StatusCode == http.StatusNotFound: // two exchanges since the prediction
					gone++
				case err != nil || a.StatusCode != http.StatusOK || now.Added != 1:
					t.Errorf("status %d: %s", a.StatusCode, body)
				default:
					added++
				}
				mu.Unlock()
			}
		})
	}
	for k := range 12 {
		v.exchange(k % 3)
	}
	stop()
	work.Wait()
	if by, all := v.lines(); all != added || added == 0 {
		t.Errorf("%d labels in the files %v, expected the %d that have an answer; %d came too late", all, by, added, gone)
	}
	t.Logf("%d labels, and %d too late", added, gone)
}
