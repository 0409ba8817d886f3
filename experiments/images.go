package experiments

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// imageSet names a data set of grey images and how to read it.
type imageSet struct {
	folder string
	read   func(dir string) (*idx.Splits, error)
	ood    string // the set whose test images are out of distribution
}

var imageSets = map[string]imageSet{
	"mnist":  {"mnist", idx.MNIST, "fmnist"},
	"fmnist": {"fashion-mnist", idx.FashionMNIST, "mnist"},
}

// ImagesOptions are the settings of [Images].
type ImagesOptions struct {
	Name    string // mnist or fmnist
	Data    string // the folder that holds the folders mnist and fashion-mnist
	Weights string // of the network, see layers.Load; "" trains one
	Dir     string // where results, checkpoints and pictures go; made if it is missing

	Methods       []string // of ImageMethods
	Inducing      []int    // the numbers of inducing points of VaLLA
	Seeds         []uint64
	Iterations    int  // of each VaLLA fit, at most
	Patience      int  // validations without improvement, one every 500 iterations, that end a fit; 0: none do
	MAPIterations int  // of the network, if it is trained
	MonteCarlo    int  // samples of the Monte-Carlo predictions; 0 leaves them out
	Rotations     bool // also score the test images turned by 10° to 180°
	Dtype         tensor.Dtype
	Progress      io.Writer
	OnScore       func(ImageScore) // called with each row as it is finished; nil means not
}

// ImageMethods are the methods that [Images] knows.
var ImageMethods = []string{"map", "valla"}

// ImagesDefaults returns the paper's settings for MNIST or Fashion-MNIST: 40,000 steps
// of Adam at 1e-3 with mini-batches of 100 at most, the state of the smallest validation
// NLL kept, which must improve within 2,500 steps; 100 inducing points, seed 0. (The
// authors' released script stops after the first epoch without an improvement, and keeps
// the state of that epoch.)
func ImagesDefaults(name string) ImagesOptions {
	return ImagesOptions{
		Name: name, Methods: ImageMethods, Inducing: []int{100}, Seeds: []uint64{0},
		Iterations: 40_000, Patience: 5, MAPIterations: 20_000, MonteCarlo: 2048, Dtype: tensor.Float32,
	}
}

// imageProblem is a data set with its network.
type imageProblem struct {
	name             string
	net              layers.Network
	train, val, test *idx.Set
	ood              *idx.Set
	dt               tensor.Dtype
}

// imageNet is the paper's network for MNIST and Fashion-MNIST.
var imageNet = layers.MLP{Inputs: 28 * 28, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}

// load reads the data sets, and the network's weights if there are any.
func (o ImagesOptions) load() (*imageProblem, error) {
	set, ok := imageSets[o.Name]
	if !ok {
		return nil, fmt.Errorf("experiments: unknown images %q, expected mnist or fmnist", o.Name)
	}
	splits, err := set.read(filepath.Join(o.Data, set.folder))
	if err != nil {
		return nil, err
	}
	other := imageSets[set.ood]
	out, err := other.read(filepath.Join(o.Data, other.folder))
	if err != nil {
		return nil, err
	}
	net, err := imageNet.New(o.Dtype, newRand(o.Seeds[0], 1))
	if err != nil {
		return nil, err
	}
	if o.Weights != "" {
		if err := layers.Load(o.Weights, net, layers.LoadOptions{}); err != nil {
			return nil, err
		}
	}
	return &imageProblem{o.Name, net, splits.Train, splits.Validation, splits.Test, out.Test, o.Dtype}, nil
}

// inputs returns images as the network takes them, [N,784], pixels in [0,1].
func (p *imageProblem) inputs(s *idx.Set) *tensor.Dense {
	if p.dt == tensor.Float64 {
		return idx.Dense[float64](&s.Images)
	}
	return idx.Dense[float32](&s.Images)
}

// targets returns one-hot labels, [N,10].
func (p *imageProblem) targets(s *idx.Set) *tensor.Dense {
	if p.dt == tensor.Float64 {
		return idx.OneHot[float64](s)
	}
	return idx.OneHot[float32](s)
}

// inducing returns m/C centres of k-means for each of the C classes, and their
// classes: m of them, or a few more so that all classes have as many.
func (p *imageProblem) inducing(m int, rng *rand.Rand) (z *tensor.Dense, class []int, err error) {
	width, per := p.train.H*p.train.W, (m+p.train.Classes-1)/p.train.Classes
	var centres []float64
	for c := range p.train.Classes {
		var rows []int
		for i, l := range p.train.Labels {
			if int(l) == c {
				rows = append(rows, i)
			}
		}
		x := make([]float64, len(rows)*width)
		idx.Gather(x, &p.train.Images, rows)
		k := data.KMeansOptions{Init: data.RandomPoints}
		z, err := k.Centers(tensor.New(tensor.WithShape(len(rows), width), tensor.WithBacking(x)), per, rng)
		if err != nil {
			return nil, nil, fmt.Errorf("experiments: inducing points of class %d: %w", c, err)
		}
		centres = append(centres, z.Float64s()...)
		for range per {
			class = append(class, c)
		}
	}
	return tensor.New(tensor.WithShape(len(class), width), tensor.WithBacking(centres)), class, nil
}
