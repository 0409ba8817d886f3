package command

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
)

// clock is a time that the test moves on.
type clock struct{ t time.Time }

func (c *clock) after(d time.Duration) { c.t = c.t.Add(d) }

// fake returns a drawer, the drawer's own clock, and the buffer that the drawer writes to.
func fake(terminal bool) (*drawer, *clock, *bytes.Buffer) {
	var out bytes.Buffer
	c := &clock{time.Unix(1000, 0)}
	return &drawer{out: &out, terminal: terminal, now: func() time.Time { return c.t }}, c, &out
}

// Without a terminal there is a line every five seconds, with the time that is left at
// the rate so far.
func TestPlainProgress(t *testing.T) {
	d, c, out := fake(false)
	for step := range 13 {
		d.show(progress{label: "VaLLA 9", done: int64(step), total: 40, unit: "steps", text: "loss 0.5"})
		c.after(time.Second)
	}
	d.close()
	const want = "VaLLA 9: 5 of 40 steps, loss 0.5, 5 s, about 35 s left\nVaLLA 9: 10 of 40 steps, loss 0.5, 10 s, about 30 s left\n"
	if out.String() != want {
		t.Errorf("lines %q, want %q", out, want)
	}
}

// Nothing is printed for work of less than five seconds.
func TestPlainProgressOfShortWork(t *testing.T) {
	d, c, out := fake(false)
	for step := range 1000 {
		d.show(progress{label: "a", done: int64(step), total: 1000, unit: "steps"})
		c.after(4 * time.Millisecond)
	}
	d.close()
	if out.Len() != 0 {
		t.Errorf("printed %q", out)
	}
}

// Many short pieces of work together take long, and lines are printed. The time left is that
// of the current piece, whose first report need not be 0.
func TestPlainProgressOfPieces(t *testing.T) {
	d, c, out := fake(false)
	for _, label := range []string{"a.gz", "b.gz"} {
		for mb := range int64(4) {
			d.show(progress{label: label, done: 10e6 + mb*1e6, total: 20e6, unit: "bytes"})
			c.after(time.Second)
		}
	}
	if want := "b.gz: 11.0 of 20.0 MB, 1 s, about 9 s left\n"; out.String() != want {
		t.Errorf("lines %q, want %q", out, want)
	}
}

// If the total is not known, the line leaves out the parts that depend on it.
func TestPlainProgressUnsized(t *testing.T) {
	d, c, out := fake(false)
	d.show(progress{label: "x", unit: "bytes"})
	c.after(8 * time.Second)
	d.show(progress{label: "x", done: 2e6, unit: "bytes"})
	if want := "x: 2.0 MB, 8 s\n"; out.String() != want {
		t.Errorf("lines %q, want %q", out, want)
	}
}

func TestBar(t *testing.T) {
	d, c, out := fake(true)
	show := func(done int64, label string) {
		d.show(progress{label: label, done: done, total: 110, unit: "steps", text: "loss 2"})
	}
	show(10, "one") // a resumed run
	if out.Len() != 0 {
		t.Errorf("drawn at once: %q", out)
	}
	c.after(time.Second)
	show(60, "one")
	drawn := out.String()
	if !strings.Contains(drawn, "one: 60 of 110 steps, loss 2") || !strings.Contains(drawn, "50%") || strings.Contains(drawn, "\n") {
		t.Errorf("bar %q", drawn)
	}
	c.after(time.Millisecond)
	show(61, "one")
	if out.String() != drawn {
		t.Error("the bar is drawn again after a millisecond")
	}
	show(0, "two")
	if drawn = out.String(); !strings.Contains(drawn, "one: 61 of 110") || !strings.HasSuffix(drawn, "\n") {
		t.Errorf("the bar does not leave its last state on a line of its own: %q", drawn)
	}
	c.after(time.Second)
	show(110, "two")
	d.close()
	if got := strings.TrimPrefix(out.String(), drawn); !strings.Contains(got, "two: 110 of 110 steps") || !strings.Contains(got, "100%") || !strings.HasSuffix(got, "\n") {
		t.Errorf("second bar %q", got)
	}
}

// A bar without a known total shows the amount and draws only when it is told to.
func TestBarUnsized(t *testing.T) {
	d, c, out := fake(true)
	d.show(progress{label: "x", unit: "bytes"})
	c.after(time.Second)
	d.show(progress{label: "x", done: 3e6, unit: "bytes"})
	d.close()
	if !strings.Contains(out.String(), "x: 3.0 MB") || strings.Contains(out.String(), " of ") {
		t.Errorf("bar %q", out)
	}
}

// The steps of a training become lines. A loss that is NaN is left out.
func TestSteps(t *testing.T) {
	for want, p := range map[string]train.Progress{
		"MAP: 7 of 9 steps, loss 0.5, validation loss 0.25": {Unit: "steps", Done: 7, Total: 9, Loss: 0.5, Validation: 0.25},
		"MAP: 7 of 9 steps, loss 0.5":                       {Unit: "steps", Done: 7, Total: 9, Loss: 0.5, Validation: math.NaN()},
		"MAP: 200 of 300 rows, validation loss 0.25":        {Unit: "rows", Done: 200, Total: 300, Loss: math.NaN(), Validation: 0.25},
		"MAP: 200 of 300 rows":                              {Unit: "rows", Done: 200, Total: 300, Loss: math.NaN(), Validation: math.NaN()},
	} {
		d, _, _ := fake(false)
		d.steps("MAP")(p)
		if got := d.last.String(); got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	}
}

// The estimate of a long fit names a cheaper choice, with its time if it is known.
func TestEstimate(t *testing.T) {
	for want, e := range map[string]gp.Estimate{
		"takes about 0.1 s and 3 MiB\n":                                          {Seconds: 1e-3, Bytes: 3 << 20},
		"takes about 30 s and 3 MiB\n":                                           {Seconds: 30, Bytes: 3 << 20, Cheaper: "weights=last-layer", CheaperSeconds: 2},
		"takes about 40 min and 3 MiB; --weights last-layer takes about 25 s\n":  {Seconds: 2400, Bytes: 3 << 20, Cheaper: "weights=last-layer", CheaperSeconds: 25},
		"takes about 40 min and 3 MiB; a smaller value of --points takes less\n": {Seconds: 2400, Bytes: 3 << 20, Cheaper: "a smaller value of the setting points"},
		"takes about 40 min and 3 MiB\n":                                         {Seconds: 2400, Bytes: 3 << 20},
	} {
		d, _, out := fake(false)
		d.estimate("VaLLA 100")(e)
		if got := out.String(); got != "valla: estimate: VaLLA 100 "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A file is no terminal.
func TestDrawerOfFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d := newDrawer(f, false); d.terminal || d.now().IsZero() {
		t.Errorf("drawer %+v", d)
	}
}

// The rows of a file become lines. Their number may be more than was thought.
func TestProgressOfRows(t *testing.T) {
	for want, about := range map[string]int64{
		"many.csv: 300 of 500 rows, 6 s, about 4 s left\nmany.csv: 600 rows, 0 s\nmany.csv: 900 rows, 6 s\n": 500,
		"many.csv: 300 rows, 6 s\nmany.csv: 600 rows, 12 s\nmany.csv: 900 rows, 18 s\n":                      0,
	} {
		d, c, out := fake(false)
		for read := range 4 {
			d.rows("folder/many.csv", 300*read, about)
			c.after(6 * time.Second)
		}
		if out.String() != want {
			t.Errorf("lines %q, want %q", out, want)
		}
	}
}

// Predictions of a whole file become lines, too.
func TestProgressOfPredictions(t *testing.T) {
	d, c, out := fake(false)
	for done := range 3 {
		d.predicted("folder/all.csv")(100*done, 300)
		c.after(6 * time.Second)
	}
	if want := "all.csv: 100 of 300 predictions, 6 s, about 12 s left\nall.csv: 200 of 300 predictions, 12 s, about 6 s left\n"; out.String() != want {
		t.Errorf("lines %q, want %q", out, want)
	}
}
