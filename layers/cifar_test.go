package layers

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
)

// pretrained loads a network of the shared weights.
func pretrained(t testing.TB, file string, depth int, s Shortcut) Sequential {
	t.Helper()
	r, err := NewResNet(depth, s, 10)
	if err != nil {
		t.Fatal(err)
	}
	net, err := r.New(tensor.Float32, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := Load(fixture.Shared(t, "weights", file), net, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	return net
}

// testImages are CIFAR-10's.
func testImages(t testing.TB) *image.Set {
	t.Helper()
	s, err := cifar.CIFAR10(fixture.Shared(t, "data", "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Test
}

// score returns the accuracy and the mean negative log-likelihood on images.
func score(t testing.TB, net Network, im *image.Images, class []int, n image.Normalize) (acc, nll float64) {
	t.Helper()
	const batch = 100
	b := graph.NewBuilder(tensor.Float32)
	x := b.Input("x", batch, 3, 32, 32)
	out := b.LogSoftmax(net.Forward(b, x))
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{Varying: []*graph.Node{x}})
	if err != nil {
		t.Fatal(err)
	}
	in, table := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(x.Shape()...)), image.NewTable[float32](n)
	if err := p.Bind(x, in); err != nil {
		t.Fatal(err)
	}
	rows := make([]int, batch)
	for from := 0; from < len(class); from += batch {
		for i := range rows {
			rows[i] = from + i
		}
		cifar.Gather(in.Float32s(), im, table, rows)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			logits := p.Value(out).Float32s()[i*10 : (i+1)*10]
			best := 0
			for c, v := range logits {
				if v > logits[best] {
					best = c
				}
			}
			if best == class[row] {
				acc++
			}
			nll -= float64(logits[class[row]])
		}
	}
	return acc / float64(len(class)), nll / float64(len(class))
}

// longVariable is the environment variable that asks for tests that take minutes.
const longVariable = "VALLA_LONG"

// TestFixturePretrained: accuracies and losses of the networks that the paper's
// experiments start from, as published with the weights and verified with PyTorch.
func TestFixturePretrained(t *testing.T) {
	if testing.Short() {
		t.Skip("runs five networks over 10,000 images")
	}
	test := testImages(t)
	for _, c := range []struct {
		file      string
		depth     int
		shortcut  Shortcut
		normalize image.Normalize
		acc, nll  float64 // nll 0: not known
		long      bool    // between others, in depth
	}{
		{"chenyaofo_cifar10_resnet20.npz", 20, Projection, cifar.Chenyaofo, .9260, .281522, false},
		{"chenyaofo_cifar10_resnet32.npz", 32, Projection, cifar.Chenyaofo, .9353, .292069, true},
		{"chenyaofo_cifar10_resnet44.npz", 44, Projection, cifar.Chenyaofo, .9401, .275259, true},
		{"chenyaofo_cifar10_resnet56.npz", 56, Projection, cifar.Chenyaofo, .9437, .252327, false},
		{"akamaster_cifar10_resnet20.npz", 20, ZeroPad, cifar.Akamaster, .9173, 0, false},
	} {
		t.Run(strings.TrimSuffix(c.file, filepath.Ext(c.file)), func(t *testing.T) {
			if c.long && os.Getenv(longVariable) == "" {
				t.Skipf("skipped, set %s to run it", longVariable)
			}
			acc, nll := score(t, pretrained(t, c.file, c.depth, c.shortcut), &test.Images, test.Class(), c.normalize)
			t.Logf("accuracy %.4f, NLL %.6f", acc, nll)
			if math.Abs(acc-c.acc) > 1e-9 || c.nll > 0 && math.Abs(nll-c.nll) > 5e-6 {
				t.Errorf("accuracy %.4f, NLL %.6f, want %.4f, %.6f", acc, nll, c.acc, c.nll)
			}
		})
	}
}

// TestFixtureBlur: accuracy of the pretrained ResNet-20 on blurred test images, as in
// the released runs of the paper's authors.
func TestFixtureBlur(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a network over 30,000 images")
	}
	test, net := testImages(t), pretrained(t, "chenyaofo_cifar10_resnet20.npz", 20, Projection)
	for severity, want := range map[int]float64{1: .9220, 2: .8373, 5: .3210} { // σ = .4, .6, 1
		c, err := corrupt.New("gaussian_blur", severity, 1)
		if err != nil {
			t.Fatal(err)
		}
		blurred := test.Images
		blurred.Pixels = make([]uint8, len(test.Pixels))
		if err := c.All(t.Context(), blurred.Pixels, test.Pixels, blurred.H, blurred.W); err != nil {
			t.Fatal(err)
		}
		acc, _ := score(t, net, &blurred, test.Class(), cifar.Chenyaofo)
		if math.Abs(acc-want) > 1e-9 {
			t.Errorf("severity %d: accuracy %.4f, want %.4f", severity, acc, want)
		}
	}
}
