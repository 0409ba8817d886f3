package gptest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// summedToy is a toy posterior that is a function of sums: an output with the sum of squares s of
// its targets has the variance 1/(1 + s). A flaw breaks a promise of sums.
type summedToy struct{ *toyPosterior }

func (p summedToy) Sums(l likelihood.Likelihood, _ gp.Run) (gp.Sums, error) {
	if p.flaw == "no function of sums" {
		return nil, errors.New("toy: no function of sums")
	}
	return &toySums{of: p, l: l, squares: make([]float64, p.h.Outputs)}, nil
}

type toySums struct {
	of      summedToy
	l       likelihood.Likelihood
	squares []float64 // of the targets of each output
	calls   int       // of Add
}

func (s *toySums) Add(ctx context.Context, e gp.Examples) error {
	if s.of.flaw == "adds nothing" {
		return errors.New("toy: full")
	}
	c := len(s.squares)
	for i := range e.N() * c {
		y := 1.0
		if v, ok := e.Y.Data().([]float64); ok {
			y = v[i]
		}
		s.squares[i%c] += y * y
	}
	if s.calls++; s.of.flaw == "counts parts" {
		s.squares[0] += 3
	}
	if s.of.flaw == "another size" && e.Y.Float64s()[0] > 0 {
		s.squares = append(s.squares, 0)
	}
	return ctx.Err()
}

func (s *toySums) Each(visit func(name string, v *[]float64, shape ...int) error) error {
	return visit("squares", &s.squares, len(s.squares))
}

func (s *toySums) Finish(_ context.Context, n int, _ *gp.Examples) (*gp.Fitted, error) {
	q := *s.of.toyPosterior
	q.scale = slices.Clone(q.scale)
	for i, v := range s.squares[:len(q.scale)] {
		q.scale[i] = 1 / math.Sqrt(1+v)
	}
	f := &gp.Fitted{Posterior: summedToy{&q}, NoiseVariance: likelihood.NoiseVariance(s.l), Record: gp.Record{Rows: n}}
	switch s.of.flaw {
	case "finishes nothing":
		return nil, errors.New("toy: nothing")
	case "forgets rows":
		f.Record.Rows--
	case "forgets the noise":
		f.NoiseVariance = 0
	case "changes the sample":
		s.of.scale[0] *= 2
	}
	return f, nil
}

// summedTrial is a trial whose posterior is a function of sums.
func summedTrial(t *testing.T, flaw string) *trial {
	t.Helper()
	f := newToyTrial(t, "")
	p := f.fitted.Posterior.(*toyPosterior)
	p.flaw = flaw
	f.fitted.Posterior = summedToy{p}
	return f
}

// TestSumFlaws: each flaw of sums is found, and is an error that says what is wrong.
func TestSumFlaws(t *testing.T) {
	for flaw, want := range map[string]string{
		"": "", "no function of sums": "",
		"adds nothing": "toy: full", "another size": "squares: ", "counts parts": "from sums over thirds",
		"finishes nothing": "toy: nothing", "forgets rows": "a record of", "forgets the noise": "noise variance 0",
		"changes the sample": "a posterior beside its sums",
	} {
		err := summedTrial(t, flaw).sums()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, expected %q", flaw, err, want)
		}
	}
	if err := newToyTrial(t, "").sums(); err != nil {
		t.Errorf("a posterior without sums: %v", err)
	}
}

// TestPasses: parts of every size give the sums of all examples, computed by plain loops.
func TestPasses(t *testing.T) {
	f := summedTrial(t, "")
	p := f.Problem.Problem
	want := 0.0
	for _, y := range p.Train.Y.Float64s() {
		want += y * y
	}
	for _, size := range []int{1, 2, 5, trainRows - 1, trainRows, 3 * trainRows} {
		got, err := Passes(t.Context(), f.fitted.Posterior.(gp.Summed), p.Likelihood, p.Train, size, nil)
		if err != nil {
			t.Fatal(err)
		}
		scale := got.Posterior.(summedToy).scale[0]
		if math.Abs(1/(scale*scale)-1-want) > 1e-9 || got.Record.Rows != trainRows {
			t.Errorf("parts of %d: the sum %v over %d rows, expected %v", size, 1/(scale*scale)-1, got.Record.Rows, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Passes(ended, f.fitted.Posterior.(gp.Summed), p.Likelihood, p.Train, 5, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// TestAddTo: sums of one name are added. Sums of another length are an error that leaves the
// sums so far.
func TestAddTo(t *testing.T) {
	all := map[string][]float64{}
	for range 2 {
		if err := addTo(all, &toySums{squares: []float64{1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(all["squares"], []float64{2, 4}) {
		t.Errorf("sums %v", all)
	}
	if err := addTo(all, &toySums{squares: []float64{1}}); err == nil || err.Error() != "squares: 2 numbers, then 1" || !slices.Equal(all["squares"], []float64{2, 4}) {
		t.Errorf("sums %v, error %v", all, err)
	}
}

var _ gp.Summed = summedToy{}

// TestSavedArrays: an array is read in the type and the shape that it has, and in no other.
func TestSavedArrays(t *testing.T) {
	a := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	if _, err := Memory(gp.State{Header: 1, Arrays: []gp.Array{{Name: "a", Value: a}, {Name: "a", Value: a}}}); err == nil || !strings.Contains(err.Error(), `two arrays are called "a"`) {
		t.Errorf("two arrays of one name: %v", err)
	}
	s, err := Memory(gp.State{Header: 1, Arrays: []gp.Array{{Name: "b", Value: a}, {Name: "a", Value: a}}})
	if err != nil || !slices.Equal(s.Names(), []string{"a", "b"}) {
		t.Fatalf("names %q, error %v", s.Names(), err)
	}
	for _, c := range []struct {
		dt    tensor.Dtype
		shape []int
		ok    bool
	}{
		{tensor.Float32, []int{2, 3}, true}, {tensor.Float64, []int{2, 3}, false}, {tensor.Float32, []int{3, 2}, false},
		{tensor.Float32, []int{6}, false}, {tensor.Float32, nil, false}, {tensor.Float32, []int{2, 3, 1}, false},
	} {
		got, err := s.Array("a", c.dt, c.shape...)
		if (err == nil) != c.ok || (got != nil) != c.ok {
			t.Errorf("%v of shape %v: %v, error %v", c.dt, c.shape, got, err)
		}
	}
	var n int
	if err := s.Header(&n); err != nil || n != 1 {
		t.Errorf("header %d, error %v", n, err)
	}
	if err := s.Header(new(string)); err == nil || !strings.HasPrefix(err.Error(), "gptest: header: ") {
		t.Errorf("a header of another kind: %v", err)
	}
}
