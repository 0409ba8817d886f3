package bench

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// Without a checkout or a Python there is an error that tells the two apart.
func TestNewPeerErrors(t *testing.T) {
	if _, _, err := newPeer(t.Context(), "python3", t.TempDir(), t.TempDir()); err == nil || errors.Is(err, errMissing) || !strings.Contains(err.Error(), "no checkout") {
		t.Errorf("no checkout: %v", err)
	}
	if _, _, err := newPeer(t.Context(), "no such python", fakeCheckout(t), t.TempDir()); !errors.Is(err, errMissing) {
		t.Errorf("no Python: %v", err)
	}
	if _, _, err := newPeer(t.Context(), os.Args[0], fakeCheckout(t), filepath.Join(t.TempDir(), "none")); err == nil || errors.Is(err, errMissing) {
		t.Errorf("no folder: %v", err)
	}
	if got := (request{Do: "open", Kind: "step"}).String() + "|" + (request{Do: "time"}).String(); got != "open step|time" {
		t.Errorf("requests %s", got)
	}
}

// Rows that take minutes are measured only where they are asked for, by their name or group. The code that others published
// makes no whole fits.
func TestChosen(t *testing.T) {
	count := func(c Command) map[group]int {
		n := map[group]int{}
		steps, whole, err := c.chosen()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range steps {
			n[b.group]++
		}
		n[wholeFits] = len(whole)
		return n
	}
	if n := count(Command{}); n[dense] == 0 || n[convolution] == 0 || n[backpack] != 0 || n[laplaces] != 0 || n[wholeFits] != 15 {
		t.Errorf("rows %v", n)
	}
	if n := count(Command{only: "."}); n[backpack] != 2 || n[laplaces] != 6 || n[wholeFits] != len(fits) {
		t.Errorf("rows %v", n)
	}
	if n := count(Command{only: "^MAP step"}); n[dense] != 1 || n[convolution] != 0 || n[wholeFits] != 0 {
		t.Errorf("rows %v", n)
	}
	if n := count(Command{only: "whole"}); n[dense] != 0 || n[wholeFits] != len(fits) {
		t.Errorf("rows %v", n)
	}
	if n := count(Command{only: ".", reference: "d"}); n[laplaces] != 6 || n[wholeFits] != 0 {
		t.Errorf("rows %v", n)
	}
}

// A report goes to the output in the form that was asked for.
func TestPrint(t *testing.T) {
	for want, c := range map[string]Command{`"their_versions": {`: {json: true}, "|--:|": {markdown: true}, "of fastest": {}} {
		var out strings.Builder
		if err := c.print(&out, example(), func() string { return example().text(c.markdown) }); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s (%v)", want, &out, err)
		}
	}
}

// The table of a sweep has times, their exponents, the gain by threads, and memory.
func TestScalingText(t *testing.T) {
	r := scalingReport{Step: "a step", session: session{Machine: result.Machine{CPU: "chip", Go: "go1"}, Load: [2]string{"1", "2"}}, Growth: []growth{
		{Size: "M", Sizes: []float64{10, 20}, Threads: []int{1, 2}, Seconds: []curve{{Values: []float64{0.002, 0.008}, Exponent: 2}, {Values: []float64{0.001, 0.002}, Exponent: 1}},
			Bytes: curve{Values: []float64{3e6, 6e6}, Exponent: 1}, Flops: curve{Values: []float64{5e6, 9e6}, Exponent: 0.8}},
		{Size: "B", Sizes: []float64{5}, Threads: []int{1}, Seconds: []curve{{Values: []float64{1}}}, Bytes: curve{Values: []float64{1e6}}, Flops: curve{Values: []float64{1e6}}},
	}}
	text := strings.Join(strings.Fields(r.text()), " ")
	for _, want := range []string{"a step chip, go1; load 1 before, 2 after", "M │ │ exponent │ 10 │ 20", "ms, 1 thread │ 2.00 │ 2.00 │ 8.00", "ms, 2 threads │ 1.00 │ 1.00 │ 2.00",
		"faster by │ │ × 2.00 │ × 4.00", "MB │ 1.00 │ 3.00 │ 6.00", "MFLOP │ 0.80 │ 5.00 │ 9.00"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, r.text())
		}
	}
	if strings.Count(text, "faster by") != 1 {
		t.Errorf("a gain on one thread:\n%s", r.text())
	}
}

// The sizes of a sweep change one size and keep the others.
func TestSweeps(t *testing.T) {
	for _, s := range sweeps {
		if !slices.IsSorted(s.sizes) || len(s.sizes) < 3 {
			t.Errorf("%s: sizes %v", s.name, s.sizes)
		}
		for _, n := range s.sizes {
			got := s.sizing(n)
			if s.name == "P" {
				if weights(got.width) != n {
					t.Errorf("P = %d: %d weights", n, weights(got.width))
				}
				got.width, n = usual.width, usual.width
			}
			changed := map[string]*int{"M": &got.inducing, "B": &got.batch, "C": &got.classes, "N": &got.rows, "P": &got.width}[s.name]
			if changed == nil || *changed != n {
				t.Fatalf("%s = %d: %+v", s.name, n, got)
			}
			*changed = map[string]int{"M": 100, "B": batch, "C": 10, "N": 1000, "P": 200}[s.name]
			if got != usual {
				t.Errorf("%s = %d changes another size: %+v", s.name, n, got)
			}
		}
	}
}

// A picture that cannot be written is an error.
func TestDrawErrors(t *testing.T) {
	g := growth{Size: "M", Sizes: []float64{1, 2}, Threads: []int{1}, Seconds: []curve{newCurve([]float64{1, 2}, []float64{1, 2})}, Bytes: newCurve([]float64{1, 2}, []float64{1, 2})}
	r := scalingReport{Growth: []growth{g}}
	if err := r.draw(filepath.Join(t.TempDir(), "none", "scaling")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	c := Command{dir: filepath.Join(t.TempDir(), "file", "below")}
	if err := os.WriteFile(filepath.Dir(c.dir), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := c.printDrawn(&out, "scaling", r.draw, r, r.text); err == nil || out.Len() != 0 {
		t.Errorf("a folder below a file: error %v, output %q", err, &out)
	}
}
