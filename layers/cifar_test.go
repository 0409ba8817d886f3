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

// longVariable is the environment variable that asks for all test images with every network. The
// project's .ci/long sets it for these tests.
const longVariable = "VALLA_LONG"

// firstImages are those that tests run without it.
const firstImages = 500

// scores are the accuracy and the mean negative log-likelihood of a network; nll 0: not known.
type scores struct{ acc, nll float64 }

// check compares the scores of a network on images.
func check(t *testing.T, net Network, im *image.Images, class []int, n image.Normalize, want scores) {
	t.Helper()
	acc, nll := score(t, net, im, class, n)
	if math.Abs(acc-want.acc) > 1e-9 || want.nll > 0 && math.Abs(nll-want.nll) > 5e-6 {
		t.Errorf("%d images: accuracy %.4f, NLL %.6f, want %.4f, %.6f", len(class), acc, nll, want.acc, want.nll)
	}
}

// long says whether networks are to be run over all images.
func long() bool { return os.Getenv(longVariable) != "" }

// TestFixturePretrained: accuracies and losses of the networks that the paper's
// experiments start from, as published with the weights and verified with PyTorch. The scores on
// the first images were taken from runs that gave the published scores on all images.
func TestFixturePretrained(t *testing.T) {
	if testing.Short() {
		t.Skip("runs five networks over images")
	}
	test := testImages(t)
	for _, c := range []struct {
		file       string
		depth      int
		shortcut   Shortcut
		normalize  image.Normalize
		first, all scores
	}{
		{"chenyaofo_cifar10_resnet20.npz", 20, Projection, cifar.Chenyaofo, scores{.9220, .253012}, scores{.9260, .281522}},
		{"chenyaofo_cifar10_resnet32.npz", 32, Projection, cifar.Chenyaofo, scores{.9380, .289552}, scores{.9353, .292069}},
		{"chenyaofo_cifar10_resnet44.npz", 44, Projection, cifar.Chenyaofo, scores{.9500, .235709}, scores{.9401, .275259}},
		{"chenyaofo_cifar10_resnet56.npz", 56, Projection, cifar.Chenyaofo, scores{.9460, .253838}, scores{.9437, .252327}},
		{"akamaster_cifar10_resnet20.npz", 20, ZeroPad, cifar.Akamaster, scores{.9100, .374510}, scores{.9173, 0}},
	} {
		t.Run(strings.TrimSuffix(c.file, filepath.Ext(c.file)), func(t *testing.T) {
			class, want := test.Class(), c.all
			if !long() {
				class, want = class[:firstImages], c.first
			}
			check(t, pretrained(t, c.file, c.depth, c.shortcut), &test.Images, class, c.normalize, want)
		})
	}
}

// TestFixtureBlur: accuracy of the pretrained ResNet-20 on blurred test images, as in
// the released runs of the paper's authors.
func TestFixtureBlur(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a network over images")
	}
	test, net := testImages(t), pretrained(t, "chenyaofo_cifar10_resnet20.npz", 20, Projection)
	for _, b := range []struct {
		severity   int // σ = .4, .6, 1
		first, all scores
	}{{1, scores{.9120, .264737}, scores{.9220, 0}}, {2, scores{.8340, .651768}, scores{.8373, 0}}, {5, scores{.3240, 4.181677}, scores{.3210, 0}}} {
		c, err := corrupt.New("gaussian_blur", b.severity, 1)
		if err != nil {
			t.Fatal(err)
		}
		blurred, class, want := test.Images, test.Class(), b.all
		if !long() {
			class, want = class[:firstImages], b.first
		}
		sharp := test.Pixels[:len(class)*3*blurred.H*blurred.W]
		blurred.Pixels = make([]uint8, len(sharp))
		if err := c.All(t.Context(), blurred.Pixels, sharp, blurred.H, blurred.W); err != nil {
			t.Fatal(err)
		}
		check(t, net, &blurred, class, cifar.Chenyaofo, want)
	}
}
