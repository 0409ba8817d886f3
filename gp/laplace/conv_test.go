package laplace

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// imageNet is a network of two convolutions, of which one has a stride, and batch norm,
// for images [1,5,4].
func imageNet(dt tensor.Dtype, outputs int) layers.Sequential {
	rng := newRand(81)
	norm := layers.NewBatchNorm("norm", 2, dt)
	gamma, _ := norm.Scale()
	for i := range 2 {
		layers.State(norm)[0].Set(i, 0.1*float64(i+1))
		gamma.Set(i, 0.5+float64(i))
	}
	return layers.Sequential{
		biased(layers.Conv2D{Name: "conv1", Filters: 2, Kernel: 3, Padding: 1, Bias: true}, 1, dt, rng), norm, layers.Activation("tanh"),
		layers.NewConv2D("conv2", 2, 3, 3, 2, 1, dt, rng), layers.Activation("tanh"),
		layers.Flatten{}, layers.NewDense("last", 3*3*2, outputs, dt, rng),
	}
}

// biased makes a convolution of images.
func biased(l layers.Conv2D, channels int, dt tensor.Dtype, rng *rand.Rand) layers.Network {
	net, err := layers.Build(layers.SequentialForm{Input: []int{channels, 8, 8}, Layers: layers.Layers{l, layers.Flatten{}}}, dt, rng)
	if err != nil {
		panic(err)
	}
	return net[0]
}

// images is a small problem of images for imageNet.
func images(t testing.TB, o options, dt tensor.Dtype, n, outputs int) problem {
	p := problemFor(t, o, 82, dt, n, 4, outputs)
	p.net = imageNet(dt, outputs)
	p.x, p.probe = small.Normal(newRand(83), tensor.Float64, n, 1, 5, 4), small.Normal(newRand(84), tensor.Float64, 3, 1, 5, 4)
	return p
}

// TestConvolutionIsNoDenseLayer: the only array may have whole rows, which are no outer products.
func TestConvolutionIsNoDenseLayer(t *testing.T) {
	o := options{Weights: []string{"conv1.weight"}, Likelihood: likelihood.Softmax{}, PriorStd: 1, Space: spaceWeights}
	if q := images(t, o, tensor.Float64, 10, 3).fit(t, o); q.marginalBytes(1) != gp.Numbers(3, 18) {
		t.Errorf("structure %T, whose covariances take %d bytes", q.structure, q.marginalBytes(1))
	}
}

// All structures but KFAC are their definition on a convolutional network.
func TestConvolutionDefinition(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 5e-5} {
		for _, l := range []likelihood.Likelihood{gaussianNoise, likelihood.Softmax{}} {
			for name, o := range map[string]options{
				"function space": {Space: spaceFunctions}, "weight space": {Space: spaceWeights}, "diag": {Structure: kindDiagonal},
				"low rank":   {Structure: kindLowRank, Rank: 6},
				"last layer": {Weights: []string{layers.LastLayerWeights}}, "last layer kfac": {Structure: kindKFAC, Weights: []string{"last.bias"}},
			} {
				o.Likelihood, o.PriorStd, o.BatchSize = l, 0.7, 3
				if noisy(l) {
					o.NoiseStd = 0.4
				}
				p := images(t, o, dt, 7, 3)
				want := newBrute(t, p, o)
				if o.Structure == kindKFAC {
					want.given = want.ggn(want.j)
				}
				want.check(t, label(dt, ", ", l, ", ", name), p.fit(t, o), tol)
			}
		}
	}
}

// kindKFAC of filters is A⊗G of patches and cotangents at the places of the output, found
// here by plain loops and by the Jacobian in numbers that are added to the output.
func TestConvolutionKFAC(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 5e-5} {
		for _, l := range []likelihood.Likelihood{gaussianNoise, likelihood.Softmax{}} {
			o := options{Structure: kindKFAC, Likelihood: l, PriorStd: 0.7, BatchSize: 3, Weights: []string{"conv1.weight", "conv2.weight"}}
			if noisy(l) {
				o.NoiseStd = 0.4
			}
			p := images(t, o, dt, 7, 3)
			want := newBrute(t, p, o)
			want.given = want.blockDiagonalOf(want.filters(t, 0, 1), want.filters(t, 3, 2))
			q := p.fit(t, o)
			if k := q.scan.blocks; k[0].places != 20 || k[1].places != 6 || k[1].p != 18 || k[1].q != 3 {
				t.Fatalf("blocks of %d and %d places", k[0].places, k[1].places)
			}
			want.check(t, label(dt, ", ", l), q, tol)
		}
	}
}

// TestConvolutionChannels: the covariances of many outputs are the same in all ways, with the rows of all or of a few channels at
// a time, and from rows that the batch keeps.
func TestConvolutionChannels(t *testing.T) {
	o := options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}, PriorStd: 0.7, Weights: []string{"conv2.weight"}}
	p := images(t, o, tensor.Float64, 5, 40)
	q := p.fit(t, o)
	at := q.predictor.(spectralPredictor)
	const c, channels = 40, 3
	err := q.scan.each(t.Context(), p.probe, func(b batch) error {
		want := make([]float64, b.count*c*c)
		at.addCovariance(b, 0, want, placesFirst, channels)
		for i, w := range []way{placesFirst, placesFirst, rowsFirst, inPlaces, placesFirst, rowsFirst} {
			if i == 4 {
				b.kept = newRowStore(1 << 20)
				b.kept.next()
			}
			got := make([]float64, len(want))
			if at.addCovariance(b, 0, got, w, 1+i%2); fixture.RelErr(got, want) > 1e-12 {
				t.Errorf("%d, way %d: error %g", i, w, fixture.RelErr(got, want))
			}
		}
		if len(b.kept.rows[0]) != b.size()*at.blocks[0].size() {
			t.Errorf("kept %d numbers", len(b.kept.rows[0]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	k := q.scan.blocks[0]
	long := k
	long.places = 500
	for c, want := range map[int]way{c: inPlaces, 3: placesFirst} {
		if w, _, _ := k.wayOf(c); w != want {
			t.Errorf("way %d with %d outputs, %d places of %d numbers and %d channels", w, c, k.places, k.p, k.q)
		}
	}
	if w, _, _ := long.wayOf(3); w != rowsFirst || k.q != channels {
		t.Errorf("way %d with %d places", w, long.places)
	}
}

// blockDiagonalOf is blockDiagonal without the choice of weights.
func (r *brute) blockDiagonalOf(blocks ...*mat.Dense) *mat.Dense {
	all := *r
	all.cols = nil
	n := 0
	for _, b := range blocks {
		n += b.RawMatrix().Rows
	}
	for i := range n {
		all.cols = append(all.cols, i)
	}
	return all.blockDiagonal(blocks)
}

// filters is H of the filters of layer number at.
func (r *brute) filters(t *testing.T, at, stride int) *mat.Dense {
	t.Helper()
	conv := r.net[at].(layers.Affine)
	filters, _ := conv.Weights()
	in := r.x
	if at > 0 {
		v := run(t, r.net, r.x, func(b *graph.Builder, x *graph.Node) []*graph.Node { return []*graph.Node{r.net[:at].Forward(b, x)} })
		in = dense.Of(v[0], r.examples, 2, 5, 4)
	}
	patches, h, w := patchesOf(in, filters.Value.Shape()[2], stride, 1)
	out, k := filters.Value.Shape()[0], filters.Value.Shape().TotalSize()/filters.Value.Shape()[0]
	places := h * w

	// The Jacobian in what is added to the convolution's output: [N·C, Out·T].
	added := shifted{conv, graph.NewParam("added", make([]float64, out*places), filters.Value.Dtype(), 1, out, h, w)}
	net := append(append(append(layers.Sequential{}, r.net[:at]...), added), r.net[at+1:]...)
	rows := run(t, net, r.x, func(b *graph.Builder, x *graph.Node) []*graph.Node {
		return jacobian.NTK{Net: layers.Part{Network: net, Chosen: []*graph.Param{added.z}}, Dense: true}.Rows(b, x)
	})[0]
	a, g := mat.NewDense(k, k, nil), mat.NewDense(out, out, nil)
	for p := range places {
		d := mat.NewDense(r.examples*r.outputs, out, nil)
		for i := range r.examples * r.outputs {
			for o := range out {
				d.Set(i, o, rows[(i*out+o)*places+p])
			}
		}
		var term mat.Dense
		term.Scale(1/float64(places), r.ggn(d))
		g.Add(g, &term)
		for n := range r.examples {
			v := mat.NewVecDense(k, patches[n*places+p])
			var square mat.Dense
			square.Outer(1/float64(r.examples), v, v)
			a.Add(a, &square)
		}
	}
	var kron mat.Dense
	kron.Kronecker(g, a) // filters are stored output first
	return &kron
}

// shifted adds z to a convolution's output.
type shifted struct {
	layers.Network
	z *graph.Param
}

func (s shifted) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Add(s.Network.Forward(b, x), b.Param(s.z))
}

// patchesOf lists the patch at each place of each image.
func patchesOf(x *tensor.Dense, size, stride, padding int) (patches [][]float64, h, w int) {
	s, v := x.Shape(), x.Float64s()
	h, w = (s[2]+2*padding-size)/stride+1, (s[3]+2*padding-size)/stride+1
	for n := range s[0] {
		for place := range h * w {
			var patch []float64
			for i := range s[1] * size * size {
				channel := i / (size * size)
				row := place/w*stride + i/size%size - padding
				col := place%w*stride + i%size - padding
				if row < 0 || row >= s[2] || col < 0 || col >= s[3] {
					patch = append(patch, 0)
				} else {
					patch = append(patch, v[((n*s[1]+channel)*s[2]+row)*s[3]+col])
				}
			}
			patches = append(patches, patch)
		}
	}
	return patches, h, w
}

// A convolution that sees the whole image at once is a dense layer.
func TestConvolutionOfOnePlace(t *testing.T) {
	p := newClasses(t, 85, tensor.Float64, 12, 4, 3)
	conv := layers.NewConv2D("only", 2, 3, 2, 1, 0, tensor.Float64, newRand(86))
	filters, _ := conv.Weights()
	flat := layers.NewDense("only", 8, 3, tensor.Float64, newRand(86))
	for i := range 3 {
		flat.B.Set(i, 0) // the convolution has none
		for k := range 8 {
			flat.W.Set(k*3+i, filters.At(i*8+k))
		}
	}
	pixels, probe := small.Normal(newRand(87), tensor.Float64, 12, 8).Float64s(), small.Normal(newRand(88), tensor.Float64, 4, 8).Float64s()
	o := options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}, PriorStd: 1, Weights: []string{"only.weight"}}
	p.net, p.x = layers.Sequential{flat}, dense.Of(pixels, 12, 8)
	want := p.fit(t, o)
	_, wantCov := small.Moments(t, want, dense.Of(probe, 4, 8))
	p.net, p.x = layers.Sequential{conv, layers.Flatten{}}, dense.Of(pixels, 12, 2, 2, 2)
	got := p.fit(t, o)
	_, cov := small.Moments(t, got, dense.Of(probe, 4, 2, 2, 2))
	fixture.Close(t, "covariance", cov, wantCov, 1e-12)
	fixture.Close(t, "lml", one(got.LogMarginalLikelihood()), one(want.LogMarginalLikelihood()), 1e-12)
}

// The promises of package gp, maxima and files, on images.
func TestConvolutionConformance(t *testing.T) {
	for _, s := range []structureKind{kindFull, kindKFAC, kindDiagonal, kindLowRank} {
		o := options{Structure: s, Likelihood: likelihood.Softmax{}, Priors: priorsPerLayer}
		p := images(t, o, tensor.Float64, 9, 3)
		q := p.fit(t, o)
		checkTop(t, string(s), q)
		gptest.Check(t, gptest.Case{Posterior: q, X: p.probe, Net: p.net})
		got, err := restore(t, p, store(t, q))
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, string(s), got, q, p.probe)
	}
}
