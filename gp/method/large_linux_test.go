package method_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// large are the fits of BenchmarkLarge, by their names: a network and uncertain weights.
var large = []struct {
	name    string
	depth   int
	weights string
	kfac    bool
}{
	{"ResNet-18/kfac/last-layer", 18, "last-layer", true},
	{"ResNet-18/valla/last-layer", 18, "last-layer", false},
	{"ResNet-18/valla/layer4.1.conv2", 18, "layer4.1.conv2.weight", false},
	{"ResNet-50/kfac/last-layer", 50, "last-layer", true},
	{"ResNet-50/valla/last-layer", 50, "last-layer", false},
	{"ResNet-50/valla/layer4.2.conv2", 50, "layer4.2.conv2.weight", false},
}

const (
	largeMemory = 8 << 30 // bytes
	largeImages = 64
	largeBatch  = 16
	largePoints = 20
	largeSteps  = 5
)

// BenchmarkLarge fits networks for images of 224×224 with 1,000 outputs and random weights to 64
// images, and predicts four. It tells the memory that was planned before the fit, the most that the
// process has held (run one benchmark at a time for that), and seconds of CPU time.
func BenchmarkLarge(b *testing.B) {
	for _, c := range large {
		b.Run(c.name, func(b *testing.B) {
			p := largeProblem(b, c.depth)
			var s gp.Settings = &valla.Settings{Inducing: largePoints, Iterations: largeSteps, BatchSize: largeBatch, Weights: []string{c.weights}}
			if c.kfac {
				s = &laplace.Settings{Structure: "kfac", Weights: []string{c.weights}}
			}
			plan := planned(b, p, c.weights, c.kfac)
			for b.Loop() {
				start := seconds()
				f, err := s.Fit(b.Context(), p, gp.Run{Seed: 1, Memory: largeMemory})
				if err != nil {
					b.Fatal(err)
				}
				fitted := seconds()
				if _, err := gp.Predict(b.Context(), f.Posterior, p.Train.Rows([]int{0, 1, 2, 3}).X); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(fitted-start, "fit-cpu-s")
				b.ReportMetric((seconds()-fitted)/4, "predict-cpu-s/image")
			}
			b.ReportMetric(float64(plan)/(1<<20), "planned-MiB")
			b.ReportMetric(peak(b), "peak-MiB")
		})
	}
}

// largeProblem has images of noise, of twenty of the thousand classes.
func largeProblem(b *testing.B, depth int) gp.Problem {
	const outputs, classes = 1000, 20
	form, err := layers.NewLargeResNet(depth, outputs)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := form.New(tensor.Float32, rng)
	if err != nil {
		b.Fatal(err)
	}
	x := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(append([]int{largeImages}, form.InputShape()...)...))
	for i := range x.Float32s() {
		x.Float32s()[i] = float32(rng.NormFloat64())
	}
	y := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(largeImages, outputs))
	for i := range largeImages {
		y.Float32s()[i*outputs+i%classes] = 1
	}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: x, Y: y}}
}

// planned is the memory that a fit is known to need before it begins, beside the data.
func planned(b *testing.B, p gp.Problem, weights string, kfac bool) int64 {
	var bytes int64
	chosen, err := layers.Choose(p.Net, weights)
	if kfac && err == nil {
		var e gp.Estimate
		e, err = (&laplace.Settings{Structure: "kfac", Weights: []string{weights}}).Estimate(b.Context(), p, gp.Run{Memory: largeMemory})
		bytes = e.Bytes
	} else if err == nil {
		size := largeBatch // as many rows at a time as a fit will compute
		for bytes = 1 << 62; size > 0 && err == nil && bytes > largeMemory/2; size /= 2 {
			bytes, err = valla.StepMemory(layers.Part{Network: p.Net, Chosen: chosen}, p.Train.X.Shape()[1:], largePoints, size)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// peak is the most memory that the process has held, in MiB.
func peak(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindStringSubmatch(string(text))[1]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}

// seconds is the CPU time of the process.
func seconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
