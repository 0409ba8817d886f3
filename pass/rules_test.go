package pass

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTree: the tree adds each leaf once, and it reads the leaves in their order.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "values")
		var order []int
		sum, err := tree(0, n, func(i int) ([]float64, error) {
			order = append(order, i)
			return []float64{values[i], 1}, nil
		})
		total := 0.0
		for _, v := range values {
			total += v
		}
		if err != nil || sum[1] != float64(n) || math.Abs(sum[0]-total) > 1e-12 || !slices.IsSorted(order) || len(order) != n {
			t.Errorf("sum %v of %d leaves in the order %v, error %v", sum, n, order, err)
		}
	})
	broken := errors.New("no leaf")
	for _, bad := range []int{0, 3, 6} {
		_, err := tree(0, 7, func(i int) ([]float64, error) {
			if i == bad {
				return nil, broken
			}
			return []float64{1}, nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("leaf %d: error %v", bad, err)
		}
	}
}

// TestTreeBits: the sum of the first power of two of leaves is a subtree, so that its bits stay when leaves follow.
func TestTreeBits(t *testing.T) {
	leaf := func(i int) ([]float64, error) { return []float64{1 / float64(3+i)}, nil }
	left, err := tree(0, 8, leaf)
	if err != nil {
		t.Fatal(err)
	}
	right, err := tree(8, 13, leaf)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := tree(0, 13, leaf); err != nil || all[0] != left[0]+right[0] {
		t.Errorf("sum %v, expected %v, error %v", all, left[0]+right[0], err)
	}
}

// TestShare: the shares of n workers are disjoint and have all parts.
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := &Job{Count: rapid.IntRange(0, 50).Draw(t, "count")}
		n := rapid.IntRange(1, 12).Draw(t, "workers")
		var all []int
		least, most := j.Count, 0
		for k := range n {
			share := j.Share(k, n)
			all, least, most = append(all, share...), min(least, len(share)), max(most, len(share))
		}
		slices.Sort(all)
		if len(all) != j.Count || len(slices.Compact(all)) != j.Count || most-least > 1 {
			t.Errorf("%d workers have the parts %v of %d", n, all, j.Count)
		}
	})
}

// TestDiffers: the phrase names the first difference, and jobs that differ in the model's path alone are the same.
func TestDiffers(t *testing.T) {
	job := func() *Job {
		return &Job{Format: format, Options: Options{Task: Predict, PartSize: 10}, Model: "a.valla", Digest: "0123456789abcdef", Data: []File{{"x.csv", 5, 1}}, Count: 3}
	}
	for want, change := range map[string]func(*Job){
		"": func(j *Job) { j.Model = "elsewhere.valla" },
		"its model has the SHA-256 sum fedcba987654…, found 0123456789ab… of a.valla": func(j *Job) { j.Digest = "fedcba9876543210" },
		"its options are": func(j *Job) { j.Level = 0.5 },
		"its data are x.csv of 6 bytes, found x.csv of 5 bytes": func(j *Job) { j.Data[0].Size = 6 },
		"its data are x.csv of 5 bytes of another time":         func(j *Job) { j.Data[0].Modified = 6 },
		"its data are 2 files in 3 parts, found 1 in 3":         func(j *Job) { j.Data = append(j.Data, File{"y.csv", 1, 1}) },
		"its data are 1 files in 4 parts, found 1 in 3":         func(j *Job) { j.Count = 4 },
	} {
		there := job()
		change(there)
		if got := job().differs(there); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("difference %q, expected %q", got, want)
		}
	}
}

// TestKept: a job does not join a folder where its files would replace its own rows or its model.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	for name, kept := range map[string]bool{"part-000000.csv": false, "part-000001.json": false, "job.json": false, "manifest.json": false, "new.csv": true} {
		for _, j := range []*Job{{Data: []File{{Path: filepath.Join(dir, name)}}}, {Model: dir + "/./" + name}} {
			err := j.Join(dir)
			if kept != (err == nil) || !kept && !strings.Contains(err.Error(), name+": the pass would replace it, take another folder than "+dir) {
				t.Errorf("%s: error %v", name, err)
			}
			if err := os.RemoveAll(filepath.Join(dir, jobFile)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnchanged: a file that grows, or that is gone, is an error.
func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("a\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := stat(path)
	if err != nil || f.unchanged() != nil {
		t.Fatal(err, f.unchanged())
	}
	if err := os.WriteFile(path, []byte("a\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.unchanged(); err == nil || !strings.Contains(err.Error(), "x.csv of 4 bytes has changed since the pass began: found 6 bytes") {
		t.Errorf("a file that grew: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.unchanged(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestUnchangedFolder: a folder has changed if an image comes to a class, however old the folder of the class says that it is.
func TestUnchangedFolder(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"cat", "dog"} {
		if err := os.Mkdir(filepath.Join(dir, class), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "dog"), later, later); err != nil {
		t.Fatal(err)
	}
	classes := []string{"cat"}
	if os.Symlink(t.TempDir(), filepath.Join(dir, "linked")) == nil {
		classes = append(classes, "linked")
	}
	for _, class := range classes {
		f, err := stat(dir)
		if err != nil || f.Size != 0 || f.unchanged() != nil {
			t.Fatalf("%+v, errors %v and %v", f, err, f.unchanged())
		}
		time.Sleep(20 * time.Millisecond) // file systems round the time
		if err := os.WriteFile(filepath.Join(dir, class, "1.png"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := f.unchanged(); err == nil || !strings.Contains(err.Error(), "has changed since the pass began") {
			t.Errorf("an image more of %s: error %v", class, err)
		}
	}
}

// TestCopyTo: a shard that lost or changed a byte is not copied without an error.
func TestCopyTo(t *testing.T) {
	dir, text := t.TempDir(), []byte("y\n1\n2\n")
	s := newSummed(&bytes.Buffer{})
	if _, err := s.Write(text); err != nil {
		t.Fatal(err)
	}
	record := &Shard{Name: "part-000000.csv", Bytes: s.bytes, Sum: s.sum()}
	for _, c := range []struct {
		text string
		ok   bool
	}{{"y\n1\n2\n", true}, {"y\n1\n3\n", false}, {"y\n1\n2", false}, {"", false}} {
		if err := os.WriteFile(filepath.Join(dir, record.Name), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := record.copyTo(&out, dir); (err == nil) != c.ok || out.String() != c.text || err != nil && !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q was copied as %q, error %v", c.text, &out, err)
		}
	}
}

// TestProgress: goroutines that finish parts at the same time are counted one after another.
func TestProgress(t *testing.T) {
	var seen []int
	p := progress{all: 50, report: func(done, all int, rows int64) {
		if all != 50 || rows != int64(3*done) {
			t.Errorf("%d of %d parts have %d rows", done, all, rows)
		}
		seen = append(seen, done)
	}}
	var work sync.WaitGroup
	for range 50 {
		work.Go(func() { p.add(&Shard{Rows: 3}) })
	}
	work.Wait()
	if len(seen) != 50 || !slices.IsSorted(seen) || seen[49] != 50 {
		t.Errorf("reports %v", seen)
	}
	(&progress{}).add(&Shard{Rows: 1}) // nobody listens
}

// TestReadJSON: a file that is no document of a pass, or that has an unknown key, is an error that names the file.
func TestReadJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := writeJSON(path, Shard{Part: 3, Notes: []string{"n"}}); err != nil {
		t.Fatal(err)
	}
	var s Shard
	if err := readJSON(path, &s); err != nil || s.Part != 3 || s.Notes[0] != "n" {
		t.Errorf("%+v, error %v", s, err)
	}
	for _, text := range []string{"", "{", `{"other": 1}`, "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := readJSON(path, &s); err == nil || !strings.Contains(err.Error(), "x.json: expected a file of a pass") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
