package gp_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"gorgonia.org/tensor"
)

// joint is a posterior that knows nothing but a joint Gaussian.
type joint struct {
	gp.Posterior
	mean, cov []float64
}

func (j joint) Joint(ctx context.Context, _ *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	m := len(j.mean)
	return tensor.New(tensor.WithShape(m), tensor.WithBacking(slices.Clone(j.mean))),
		tensor.New(tensor.WithShape(m, m), tensor.WithBacking(slices.Clone(j.cov))), ctx.Err()
}

// singular has the covariance G Gᵀ of rank 2 in four dimensions, with a fifth value
// that is certain.
func singular() joint {
	j := joint{mean: []float64{1, -2, 3, 0, 7}}
	g := [][2]float64{{1, 0}, {2, 1}, {-1, 0.5}, {0.01, 3}, {0, 0}}
	for _, u := range g {
		for _, v := range g {
			j.cov = append(j.cov, u[0]*v[0]+u[1]*v[1])
		}
	}
	return j
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func draw(t *testing.T, j joint, n int, seed uint64) []float64 {
	t.Helper()
	s, err := gp.Sample(t.Context(), j, nil, n, source(seed))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Shape(), []int{n, len(j.mean)}) {
		t.Fatalf("shape %v, want (%d, %d)", s.Shape(), n, len(j.mean))
	}
	return s.Float64s()
}

// TestSampleMoments: mean and covariance of many samples lie within five standard
// errors, √(Σ_ii/n) and √((Σ_ii Σ_jj + Σ_ij²)/n), plus what the jitter does.
func TestSampleMoments(t *testing.T) {
	const n = 20000
	j := singular()
	m := len(j.mean)
	s := draw(t, j, n, 1)
	average := make([]float64, m)
	for r := range n {
		for i := range m {
			average[i] += s[r*m+i] / n
		}
	}
	for i := range m {
		if d := math.Abs(average[i] - j.mean[i]); d > 5*math.Sqrt(j.cov[i*m+i]/n)+1e-5 {
			t.Errorf("mean %d is %g, want %g", i, average[i], j.mean[i])
		}
		for k := range m {
			cov := 0.0
			for r := range n {
				cov += (s[r*m+i] - average[i]) * (s[r*m+k] - average[k]) / n
			}
			want := j.cov[i*m+k]
			if d := math.Abs(cov - want); d > 5*math.Sqrt((j.cov[i*m+i]*j.cov[k*m+k]+want*want)/n)+1e-5 {
				t.Errorf("covariance (%d,%d) is %g, want %g", i, k, cov, want)
			}
		}
	}
}

// TestSampleSingular: a combination of values that is certain is the same in all
// samples, up to a jitter of 1e-10 of the largest variance, 9, and five deviations.
func TestSampleSingular(t *testing.T) {
	j := singular()
	m := len(j.mean)
	s := draw(t, j, 100, 2)
	certain := []float64{-2, 1, 0, -1.0 / 3, 0} // combines the rows of G to (−1/300, 0), nearly
	certain[0] += 1.0 / 300
	want := 0.0
	for i, c := range certain {
		want += c * j.mean[i]
	}
	for r := range 100 {
		got := 0.0
		for i, c := range certain {
			got += c * s[r*m+i]
		}
		if tol := 5 * math.Sqrt(1e-10*9*6); math.Abs(got-want) > tol || math.Abs(s[r*m+4]-7) > tol {
			t.Fatalf("sample %d: the certain values are %.9g and %.9g, want %.9g and 7", r, got, s[r*m+4], want)
		}
	}
}

func TestSampleSeeds(t *testing.T) {
	j := singular()
	if !slices.Equal(draw(t, j, 3, 1), draw(t, j, 3, 1)) {
		t.Error("the same seed gives other samples")
	}
	if slices.Equal(draw(t, j, 3, 1), draw(t, j, 3, 2)) {
		t.Error("another seed gives the same samples")
	}
	s := draw(t, j, 2, 1)
	if slices.Equal(s[:5], s[5:]) {
		t.Error("two samples are the same")
	}
}

// TestSampleCertain: without covariance every sample is the mean.
func TestSampleCertain(t *testing.T) {
	j := joint{mean: []float64{1, 2}, cov: make([]float64, 4)}
	if s := draw(t, j, 2, 1); !slices.Equal(s, []float64{1, 2, 1, 2}) {
		t.Errorf("samples %v", s)
	}
}

// TestSampleRounding: a covariance of rank 1 that was computed in float32, with
// eigenvalues of some −1e-7, is sampled.
func TestSampleRounding(t *testing.T) {
	const m = 20
	j := joint{mean: make([]float64, m), cov: make([]float64, m*m)}
	for i := range m {
		for k := range m {
			j.cov[i*m+k] = float64(float32(math.Sin(float64(i+1)) * math.Sin(float64(k+1))))
		}
	}
	s := draw(t, j, 50, 3)
	for r := range 50 {
		for i := range m { // all values are multiples of the first
			want := s[r*m] * math.Sin(float64(i+1)) / math.Sin(1)
			if math.Abs(s[r*m+i]-want) > 0.02 { // five deviations of a jitter of 1e-5
				t.Fatalf("sample %d: value %d is %g, want %g", r, i, s[r*m+i], want)
			}
		}
	}
}

func TestSampleErrors(t *testing.T) {
	good := singular()
	for _, n := range []int{0, -1} {
		if _, err := gp.Sample(t.Context(), good, nil, n, source(1)); err == nil || !strings.Contains(err.Error(), "samples, expected") {
			t.Errorf("%d samples: error %v", n, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gp.Sample(ended, good, nil, 1, source(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: error %v", err)
	}
	for what, cov := range map[string][]float64{
		"negative":                         {1, 0, 0, -0.1},
		"indefinite":                       {1, 2, 2, 1},
		"all zero but beside the diagonal": {0, 1, 1, 0},
		"NaN":                              {math.NaN(), 0, 0, 1},
	} {
		j := joint{mean: make([]float64, 2), cov: cov}
		if _, err := gp.Sample(t.Context(), j, nil, 1, source(1)); !errors.Is(err, gp.ErrNotCovariance) {
			t.Errorf("%s: error %v, want ErrNotCovariance", what, err)
		}
	}
}

// TestSampleScale: in other units, a power of two, the samples are the same numbers.
func TestSampleScale(t *testing.T) {
	large, small := singular(), singular()
	clear(large.mean)
	clear(small.mean)
	for i := range small.cov {
		small.cov[i] *= 0x1p-60
	}
	want, got := draw(t, large, 10, 4), draw(t, small, 10, 4)
	for i := range got {
		if got[i] != want[i]*0x1p-30 {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i]*0x1p-30)
		}
	}
}
