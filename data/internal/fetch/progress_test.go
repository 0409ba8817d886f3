package fetch

import (
	"os"
	"path/filepath"
	"testing"
)

// progress is a call of OnProgress.
type progress struct {
	file        string
	done, total int64
}

// watched adds to o a callback that keeps its arguments.
func watched(o *Options) *[]progress {
	var seen []progress
	o.OnProgress = func(file string, done, total int64) { seen = append(seen, progress{file, done, total}) }
	return &seen
}

// expectRising fails unless the bytes of one file rise from from to its size.
func expectRising(t *testing.T, seen []progress, from int64) {
	t.Helper()
	if len(seen) < 3 || seen[0].done != from {
		t.Fatalf("progress %v, want it to begin with %d bytes", seen, from)
	}
	for i, p := range seen {
		if p.file != "a" || i > 0 && p.done < seen[i-1].done {
			t.Errorf("progress number %d is %v, after %v", i, p, seen[max(i-1, 0)])
		}
	}
	if last, n := seen[len(seen)-1], int64(len(content)); last.done != n || last.total != n {
		t.Errorf("the last progress is %v, want %d of %d bytes", last, n, n)
	}
}

func TestProgress(t *testing.T) {
	o := options(t, serve(t, good))
	seen := watched(&o)
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectRising(t, *seen, 0)
	for _, p := range *seen {
		if p.total != int64(len(content)) {
			t.Errorf("progress %v, want a total of %d", p, len(content))
		}
	}
	*seen = nil
	if err := Get(t.Context(), set(), o); err != nil || len(*seen) != 0 {
		t.Errorf("progress %v (%v) though the file is there", *seen, err)
	}
}

// What an earlier call left counts as done.
func TestProgressOfRest(t *testing.T) {
	o := options(t, serve(t, good))
	put(t, o, "a.part", content[:150000])
	seen := watched(&o)
	if err := Get(t.Context(), set(), o); err != nil {
		t.Fatal(err)
	}
	expectRising(t, *seen, 150000)
}

// A file of unknown size tells its total when it is complete.
func TestProgressUnsized(t *testing.T) {
	o := options(t, serve(t, chunked))
	seen := watched(&o)
	if err := Get(t.Context(), unsized(), o); err != nil {
		t.Fatal(err)
	}
	expectRising(t, *seen, 0)
	for _, p := range (*seen)[:len(*seen)-1] {
		if p.total != 0 {
			t.Errorf("progress %v before the end, want no total", p)
		}
	}
}

// A file's name may begin with folders, in the address as on the disk.
func TestNestedNames(t *testing.T) {
	m := serve(t, good)
	o := options(t, m)
	d := Dataset{Name: "test", Files: []File{fileOf("in/here/a", content)}}
	if missing, err := d.Missing(o.Dir); err != nil || len(missing) != 1 {
		t.Errorf("missing %v (%v), want one file", missing, err)
	}
	if err := Get(t.Context(), d, o); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(o.Dir, "in", "here", "a"))
	if err != nil || string(got) != string(content) {
		t.Errorf("%d bytes (%v), want %d", len(got), err, len(content))
	}
	if missing, err := d.Missing(o.Dir); err != nil || len(missing) != 0 {
		t.Errorf("missing %v (%v), want none", missing, err)
	}
}
