package valla

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// TestHeads: the loss of a batch is the mean of the losses of its rows, and its gradient has the differences of these.
func TestHeads(t *testing.T) {
	const n, targets, h = 5, 2, 1e-6
	r := rand.New(rand.NewPCG(3, 0))
	y, f := make([]float64, n*targets), make([]float64, 2*n*targets)
	for _, v := range [][]float64{y, f} {
		for i := range v {
			v[i] = r.NormFloat64()
		}
	}
	for _, of := range []*head{noiseHead, pinballHead(0.9)} {
		b := graph.NewBuilder(tensor.Float64)
		out := b.Param(graph.NewParam("f", f, tensor.Float64, n, 2*targets))
		loss := of.loss(b, b.Const("y", y, n, targets), out)
		got, err := graph.Evaluate(b, loss, graph.Grad(b, loss, out)[0])
		if err != nil {
			t.Fatal(err)
		}
		mean := func(f []float64) (sum float64) {
			for i := range n {
				sum += of.heldLoss(y[i*targets:(i+1)*targets], f[2*i*targets:2*(i+1)*targets]) / n
			}
			return sum
		}
		if math.Abs(got[0][0]-mean(f)) > 1e-12 {
			t.Errorf("%s: loss %g, want %g", of.name, got[0][0], mean(f))
		}
		for i := range f {
			up, down := slices.Clone(f), slices.Clone(f)
			up[i], down[i] = up[i]+h, down[i]-h
			if want := (mean(up) - mean(down)) / (2 * h); math.Abs(got[1][i]-want) > 1e-8 {
				t.Errorf("%s: slope %g of output %d, want %g", of.name, got[1][i], i, want)
			}
		}
	}
}

// growing returns n rows of y = 10 + 5 sin(2x) + std(x)·ε.
func growing(n int, seed uint64, std func(x float64) float64) *data.Set {
	r := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 4*r.Float64() - 2
		y[i] = 10 + 5*math.Sin(2*x[i]) + std(x[i])*r.NormFloat64()
	}
	return &data.Set{Features: []string{"x"}, Targets: []string{"y"}, X: denseOf(x, n, 1), Y: denseOf(y, n, 1)}
}

// even and wider are standard deviations of noise.
func even(float64) float64    { return 1 }
func wider(x float64) float64 { return math.Exp(0.8*x - 0.5) }

// headTrain are options of a network with or without a noise head.
func headTrain(head task.ScaleOf) TrainOptions {
	return TrainOptions{Network: Network{Hidden: []int{20}}, Training: Training{Iterations: 1500}, NoiseHead: head}
}

// trainedBy returns the network that options make.
func trainedBy(t *testing.T, set *data.Set, o TrainOptions) *Model {
	t.Helper()
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNoiseHeadTrained: with even noise a network that tells its noise is as good as one with one noise; where the noise grows,
// it is better and knows the standard deviation. The form stays that of the network, and a file holds all of it.
func TestNoiseHeadTrained(t *testing.T) {
	for name, std := range map[string]func(float64) float64{"even": even, "wider": wider} {
		set, fresh := growing(800, 1, std), growing(2000, 2, std)
		plain, m := trainedBy(t, set, headTrain("")), trainedBy(t, set, headTrain(task.LogVariance))
		gain := nllOf(t, plain, fresh) - nllOf(t, m, fresh)
		if name == "even" && math.Abs(gain) > 0.03 || name == "wider" && gain < 0.4 {
			t.Errorf("%s: better by %g than one noise", name, gain)
		}
		off, p := 0.0, predict(t, m, fresh.X)
		for i, x := range fresh.X.Float64s() {
			off += math.Abs(0.5*math.Log(p.Variance[i])-math.Log(std(x))) / 2000
		}
		if off > 0.12 {
			t.Errorf("%s: the logarithm of the standard deviation is off by %g", name, off)
		}
		if m.Form.String() != "1-20-1 tanh" || m.Task.Scale.Form.String() != "1-20-1 tanh" || m.History[0].Settings["noise-head"] != "log-variance" {
			t.Errorf("form %v, scale %v, settings %v", m.Form, m.Task.Scale.Form, m.History[0].Settings)
		}
		(modelled{}).throughFile(t, m, fresh)
		comesBack(t, fit(t, m, set, FitOptions{Settings: &laplace.Settings{}}), fresh.X)
	}
}

// TestNoiseHeadLikeliest: without weight decay the likeliest network has residuals of the variance that it tells: the slope of the
// loss along the bias of the logarithm is half of 1 − the mean squared residual in units of the standard deviation.
func TestNoiseHeadLikeliest(t *testing.T) {
	set, o := growing(100, 1, wider), headTrain(task.LogVariance)
	o.Network.Hidden = []int{2}
	o.Training = Training{Iterations: 3000, BatchSize: 100, WeightDecay: new(0.0), Validation: new(0.0)}
	if v := trainedBy(t, set, o).NoiseVariance(); math.Abs(v-1) > 1e-3 {
		t.Errorf("factor %g of the variances, want 1", v)
	}
}

// TestNoiseHeadTrials: where rows choose the steps, the network and the noise of the choosing rows come from the loss of the head.
func TestNoiseHeadTrials(t *testing.T) {
	o := headTrain(task.LogVariance)
	o.Network.Hidden, o.Training = []int{3}, Training{}
	set := growing(150, 1, wider)
	m := trainedBy(t, set, o)
	if m.Task.Scale == nil || !(m.NoiseVariance() >= 0.9) || len(m.History[0].Facts) != 1 {
		t.Errorf("factor %g of the variances, facts %v", m.NoiseVariance(), m.History[0].Facts)
	}
	again, err := m.Trained()
	if err != nil || again.NoiseHead != task.LogVariance || !again.chosen {
		t.Fatalf("%+v, error %v", again, err)
	}
	if b := trainedBy(t, set, again); !slices.Equal(predict(t, m, set.X).Mean, predict(t, b, set.X).Mean) {
		t.Error("the training that the history tells makes another network")
	}
}

// TestNoiseHeadTrainRefuses: networks that cannot have a noise head.
func TestNoiseHeadTrainRefuses(t *testing.T) {
	student, err := likelihood.Named("student-t")
	if err != nil {
		t.Fatal(err)
	}
	end := layers.SequentialForm{Input: []int{1}, Layers: layers.Layers{layers.DenseLayer{Outputs: 1}, layers.Activation("tanh")}}
	for want, change := range map[string]func(o *TrainOptions){
		`noise head "variance" of a network that is trained here, expected "log-variance"`: func(o *TrainOptions) { o.NoiseHead = task.Variance },
		"a noise head of a network of classes or of a likelihood, expected a regression":   func(o *TrainOptions) { o.Classes = true },
		"a noise head of a network of classes or of a likelihood":                          func(o *TrainOptions) { o.Likelihood = student },
		"3 networks with a noise head":                                                     func(o *TrainOptions) { o.Training.Networks = 3 },
		"the network ends in tanh, expected a dense layer":                                 func(o *TrainOptions) { o.Network = Network{Own: end} },
	} {
		o := headTrain(task.LogVariance)
		change(&o)
		_, err := Train(t.Context(), growing(60, 1, even), o)
		oneLine(t, err, "train: ", want)
	}
}

// TestQuantiles: intervals of a network of quantiles follow the noise and hold their level on fresh rows; on the rows that correct
// them they hold just as many rows as they have to. The units of the targets do not matter.
func TestQuantiles(t *testing.T) {
	const level, choosing = 0.8, 199
	set, choose, fresh := growing(800, 1, wider), growing(choosing, 2, wider), growing(2000, 3, wider)
	m := trainedBy(t, set, headTrain(""))
	intervals := func(m *Model, set, choose *data.Set, x *tensor.Dense) (lower, upper []float64) {
		q, err := m.Quantiles(t.Context(), set, level, nil)
		if err == nil {
			q, err = q.Conform(t.Context(), choose)
		}
		if err == nil {
			lower, upper, err = q.Intervals(t.Context(), x)
		}
		if err != nil {
			t.Fatal(err)
		}
		return lower, upper
	}
	inside := func(lower, upper []float64, y []float64) (n int) {
		for i, v := range y {
			if lower[i]-1e-9 <= v && v <= upper[i]+1e-9 { // the row that decides lies on its bound
				n++
			}
		}
		return n
	}
	lower, upper := intervals(m, set, choose, choose.X)
	if n := inside(lower, upper, choose.Y.Float64s()); n != 160 { // ⌈200·0.8⌉
		t.Errorf("%d of %d rows inside, want 160", n, choosing)
	}
	lower, upper = intervals(m, set, choose, fresh.X)
	if n := inside(lower, upper, fresh.Y.Float64s()); math.Abs(float64(n)/2000-level) > 0.06 { // two standard errors of 199 rows
		t.Errorf("%d of 2000 fresh rows inside", n)
	}
	off := 0.0
	for i, x := range fresh.X.Float64s() {
		if !(lower[i] <= upper[i]) {
			t.Fatalf("row %d: bounds %g and %g", i, lower[i], upper[i])
		}
		off += math.Abs(math.Log((upper[i]-lower[i])/(2*1.2816*wider(x)))) / 2000
	}
	if off > 0.2 {
		t.Errorf("the logarithm of the width is off by %g", off)
	}
	thousand := func(s *data.Set) *data.Set {
		y := slices.Clone(s.Y.Float64s())
		for i := range y {
			y[i] *= 1024
		}
		return &data.Set{Features: s.Features, Targets: s.Targets, X: s.X, Y: denseOf(y, len(y), 1)}
	}
	low, high := intervals(trainedBy(t, thousand(set), headTrain("")), thousand(set), thousand(choose), fresh.X)
	for i := range low {
		low[i], high[i] = low[i]/1024, high[i]/1024
	}
	same(t, "lower bounds in other units", low, lower, 1e-9)
	same(t, "upper bounds in other units", high, upper, 1e-9)
}

// TestQuantilesRefuses: models and rows without intervals of quantiles.
func TestQuantilesRefuses(t *testing.T) {
	set := growing(60, 1, even)
	o := headTrain("")
	o.Training.Iterations = 1
	m := trainedBy(t, set, o)
	_, err := m.Quantiles(t.Context(), set, 1, nil)
	oneLine(t, err, "quantiles: ", "level 1, expected a probability")
	q, err := m.Quantiles(t.Context(), set, 0.95, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Conform(t.Context(), growing(18, 2, even))
	oneLine(t, err, "quantiles: ", "needs a conformal calibration with 19 rows")
	_, err = trainedBy(t, twins(60, 1), o).Quantiles(t.Context(), twins(60, 1), 0.95, nil)
	oneLine(t, err, "of 2 targets, expected a regression of one target")
	m.History[0].Action = ActionWeights
	_, err = m.Quantiles(t.Context(), set, 0.95, nil)
	oneLine(t, err, "quantiles: the history does not tell how the network was trained")
}

// TestQuantilesCrossed: bounds that the network gives in the wrong order change places, and an interval that a correction would
// turn around is its middle.
func TestQuantilesCrossed(t *testing.T) {
	set, o := growing(60, 1, even), headTrain("")
	o.Training.Iterations = 1
	q, err := trainedBy(t, set, o).Quantiles(t.Context(), set, 0.9, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := q.Intervals(t.Context(), set.X)
	if err != nil {
		t.Fatal(err)
	}
	q.margin = -1e9
	lower, upper, err := q.Intervals(t.Context(), set.X)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range lower {
		if v != upper[i] || v < raw[i] {
			t.Fatalf("row %d: bounds %g and %g, %g before", i, v, upper[i], raw[i])
		}
	}
}
