package ella

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// problems returns the problems of gptest with several outputs, for a multilayer perceptron and a
// convolutional network.
func problems(t *testing.T) (out []gptest.Problem) {
	all := small.Must(t, gptest.Problems)
	return slices.DeleteFunc(all, func(p gptest.Problem) bool { return p.Outputs() == 1 })
}

// tolerance returns the tolerance, in the type dt, for sums in another order.
func tolerance(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-5
	}
	return 1e-12
}

// TestBlocks: the kernel and the directions are the same in blocks of every size, also
// where the points do not divide evenly.
func TestBlocks(t *testing.T) {
	for _, p := range problems(t) {
		at := Settings{Points: 11, PointOutput: "random"}
		points := at.draw(p.Problem, 1)
		j := jacobianOf(t, p.Net, points.z)
		var rows []float64
		n := layers.Count(p.Net)
		for i, c := range points.output {
			r := i*points.outputs + c
			rows = append(rows, j[r*n:(r+1)*n]...)
		}
		want := product(11, 11, n, rows, rows)
		for _, size := range []int{1, 2, 4, 6, 10, 11} {
			got := kernelInBlocks(t, p.Problem, points, size)
			fixture.Close(t, fmt.Sprint(p.Name, ": kernel in blocks of ", size), got, want, tolerance(p.Dtype()))
		}
		s, err := leading(want, 11, 3, p.Dtype())
		if err != nil {
			t.Fatal(err)
		}
		whole := directionsWithin(t, p.Problem, points, s, gp.Run{}.Limit())
		_, least, err := planReverse(p.Net, points, 2)
		if err != nil {
			t.Fatal(err)
		}
		parts := directionsWithin(t, p.Problem, points, s, dense.Bytes(whole)+least)
		fixture.Close(t, p.Name+": directions in blocks of 2", graph.Floats(parts), graph.Floats(whole), 10*tolerance(p.Dtype()))
	}
}

func kernelInBlocks(t *testing.T, p gp.Problem, at points, size int) []float64 {
	t.Helper()
	m := at.n()
	g, _, err := planBlocks(at.picked(p.Net), at.inputs(at.picked(p.Net)), size)
	if err == nil {
		err = g.compile()
	}
	k := make([]float64, m*m)
	if err == nil {
		err = g.each(t.Context(), func(i, j int, v *tensor.Dense) { place(k, m, i, j, size, graph.Floats(v)) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func directionsWithin(t *testing.T, p gp.Problem, at points, s spectrum, limit int64) *tensor.Dense {
	t.Helper()
	v, err := directions(t.Context(), p.Net, at, s, limit, untold)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLimit: under a limit a fit is computed in smaller parts, with the same predictions; a
// limit that one example breaks is an error that names it.
func TestLimit(t *testing.T) {
	for _, p := range problems(t) {
		s := Settings{Points: 20, Rank: 3, PriorStd: 0.5}
		fit := func(limit int64) (*gp.Fitted, error) {
			return s.Fit(t.Context(), p.Problem, gp.Run{Seed: 1, Memory: limit})
		}
		f, err := fit(0)
		if err != nil {
			t.Fatal(err)
		}
		_, want := small.Moments(t, f.Posterior, p.Probe)
		tight, worked := 0, 0
		for limit := int64(1 << 10); limit < 1<<24; limit *= 2 {
			f, err := fit(limit)
			var refused *graph.MemoryError
			if errors.As(err, &refused) {
				if refused.Need <= refused.Limit || refused.Limit > limit {
					t.Errorf("%s: error %v with the limit %d", p.Name, err, limit)
				}
				tight++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			worked++
			_, got := small.Moments(t, f.Posterior, p.Probe)
			fixture.Close(t, fmt.Sprint(p.Name, " within ", graph.Bytes(limit)), got, want, 100*tolerance(p.Dtype()))
		}
		if tight == 0 || worked < 5 {
			t.Errorf("%s: %d limits are too small, %d are not", p.Name, tight, worked)
		}
	}
}

// TestPlanIsMeasured: the heap that blocks of the kernel take is what was planned.
func TestPlanIsMeasured(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 2000, 100, 3, true)
	s := Settings{Points: 1000, PointOutput: "label"}
	at := s.draw(p, 1)
	x := at.inputs(at.picked(p.Net))
	before := small.LiveHeap()
	g, plan, err := planBlocks(at.picked(p.Net), x, 600)
	if err == nil {
		err = g.compile()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := float64(small.LiveHeap() - before)
	runtime.KeepAlive(g)
	if want := float64(plan); got < want/1.25 || got > want*1.25 {
		t.Errorf("blocks take %s, %s were planned", graph.Bytes(int64(got)), graph.Bytes(plan))
	}
}

// TestStartsOf: blocks cover all rows and end with the last.
func TestStartsOf(t *testing.T) {
	for _, c := range []struct {
		n, size int
		want    []int
	}{{10, 10, []int{0}}, {10, 5, []int{0, 5}}, {10, 4, []int{0, 4, 6}}, {3, 2, []int{0, 1}}, {2, 1, []int{0, 1}}} {
		if got := startsOf(c.n, c.size); !slices.Equal(got, c.want) {
			t.Errorf("%d rows in blocks of %d begin at %v, want %v", c.n, c.size, got, c.want)
		}
	}
}

// TestHalved: the size is halved until it fits, and the error says what one example needs.
func TestHalved(t *testing.T) {
	var tried []int
	need := func(size int) (int, int64, error) {
		tried = append(tried, size)
		return size, int64(100 * size), nil
	}
	if got, err := halved("it", 11, 350, need); err != nil || got != 3 || !slices.Equal(tried, []int{11, 6, 3}) {
		t.Errorf("size %d after %v, error %v", got, tried, err)
	}
	var refused *graph.MemoryError
	if _, err := halved("it", 11, 99, need); !errors.As(err, &refused) || refused.Need != 100 || refused.Limit != 99 {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	if _, err := halved("it", 4, 1, func(int) (int, int64, error) { return 0, 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestEndedContext: each part of a fit ends with its context.
func TestEndedContext(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 30, 4, 2, false)
	at := allPairs(p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kernelOf(ctx, p.Net, at, gp.Run{}.Limit(), untold); !errors.Is(err, context.Canceled) {
		t.Errorf("kernel: error %v", err)
	}
	s := spectrum{values: []float64{1}, u: make([]float64, at.n())}
	if _, err := directions(ctx, p.Net, at, s, gp.Run{}.Limit(), untold); !errors.Is(err, context.Canceled) {
		t.Errorf("directions: error %v", err)
	}
}

// TestJointMemory: a joint covariance beyond the limit is refused.
func TestJointMemory(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 30, 4, 2, false)
	q := fitPoints(t, p, Settings{PriorStd: 1, NoiseStd: 0.3, Rank: 3}, allPairs(p))
	q.Limit = 8 * 60 * (60 + 3)
	if _, _, err := q.Joint(t.Context(), p.Train.X); err != nil {
		t.Error(err)
	}
	q.Limit--
	var refused *graph.MemoryError
	if _, _, err := q.Joint(t.Context(), p.Train.X); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
}

// TestValidationMemory: the features of the validation rows count.
func TestValidationMemory(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 30, 4, 2, false)
	many := gp.Examples{X: data.TakeRows(p.Train.X, make([]int, 5000)), Y: data.TakeRows(p.Train.Y, make([]int, 5000))}
	s := Settings{Points: 10, Rank: 3, PriorStd: 1}
	limit := heldOutBytes(5000, 2, 3)
	if _, err := s.Fit(t.Context(), p, gp.Run{Memory: limit}); err != nil {
		t.Error(err)
	}
	p.Validation = &many
	var refused *graph.MemoryError
	if _, err := s.Fit(t.Context(), p, gp.Run{Memory: limit}); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Fit(t.Context(), p, gp.Run{Memory: 2 * limit}); err != nil {
		t.Error(err)
	}
}
