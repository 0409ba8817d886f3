package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
)

// LoadOptions say how a file of weights is read.
type LoadOptions struct {
	Layout Layout // of dense weights in the file; the zero value is Auto
}

// Save writes the arrays of net, its parameters and its state, each under its name.
//
// If path ends in .npz, the arrays go into that archive, which is replaced atomically.
// Otherwise path is a folder, which is made if it does not exist, and each array goes into
// a file NAME.npy there, which is replaced atomically. If saving over older files stops
// half way, the folder holds old and new arrays. Save refuses a folder with other arrays
// in it, and arrays that are not finite: [Load] would not take them back.
func Save(path string, net Network) error {
	if err := save(path, net); err != nil {
		return fmt.Errorf("layers: saving weights: %w", err)
	}
	return nil
}

func save(path string, net Network) error {
	params, err := distinct(net)
	if err != nil {
		return err
	}
	for _, p := range params {
		if _, err := stage(p, p.Value, false); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	return writeWeights(path, params)
}

// Load reads the arrays of net, its parameters and its state, and converts them to the
// network's element type. It works for the network of any [Form]. The file is
//   - a .npz archive or a folder of .npy files, float32 or float64;
//   - a .safetensors file, of float16 and bfloat16 too;
//   - a state dictionary of PyTorch, .pt or .pth, of which nothing is executed.
//
// The arrays may be named
//   - like the parameters, as [Save] does, all names below modules such as module.model.;
//   - as in PyTorch's state dictionaries, K.weight, K.bias, K.running_mean and
//     K.running_var. The order in which the K appear is the order of the layers, but K that
//     differ only in their numbers are sorted by these (0, 3, 10; fc1, fc2). If the shapes
//     contradict that order, as where a module declares its layers in another order than it
//     applies them, or if the file does not tell it, as .safetensors files and folders, then
//     the shapes decide, and the numbers between layers of one shape;
//   - W1, b1, W2, b2, … for a network of dense layers only.
//
// A state dictionary may call the last layer linear where the network calls it fc, and
// its counters, K.num_batches_tracked, are passed over.
//
// The file must hold every array of the network and no others, of the right shapes and
// with finite elements. All of this is checked first, and the error names the arrays that
// are missing, not expected or of other shapes; no parameter has changed then. The values
// are copied into the arrays that the parameters have, which compiled programs read.
func Load(path string, net Network, o LoadOptions) error {
	if err := load(path, net, o); err != nil {
		return fmt.Errorf("layers: loading weights: %w", err)
	}
	return nil
}

// ShapeError says that an array of a file of weights has another shape than its parameter.
type ShapeError struct {
	Array     string // file and name of the array
	Got, Want []int  // shapes of the array and of the parameter, as the file stores it
	Param     string // name of the parameter
}

// Error implements error.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s: shape %v, expected %v for parameter %q", e.Array, tensor.Shape(e.Got), tensor.Shape(e.Want), e.Param)
}

func load(path string, net Network, o LoadOptions) error {
	params, err := distinct(net)
	if err != nil {
		return err
	}
	f, err := readWeights(path)
	if err != nil {
		return err
	}
	names, usual, err := f.match(params)
	if err != nil {
		return err
	}
	var seen evidence
	layout := layouts{others: inFileOrder(net)}
	for i, p := range params {
		if !slices.Contains(layout.others, p) {
			seen.add(names[i], f.arrays[names[i]].Shape(), p.Value.Shape())
		}
	}
	if layout.dense, err = o.Layout.resolve(usual, seen); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.checkShapes(names, params, layout); err != nil {
		return err
	}
	commits := make([]func(), len(params))
	for i, p := range params {
		if commits[i], err = f.stage(names[i], p, layout.of(p)); err != nil {
			return err
		}
	}
	for _, commit := range commits {
		commit()
	}
	return nil
}

// distinct lists the arrays of net, each once. Their names must differ.
func distinct(net Network) ([]*graph.Param, error) {
	var all []*graph.Param
	named := map[string]*graph.Param{}
	for _, p := range Arrays(net) {
		switch other, ok := named[p.Name]; {
		case ok && other == p:
			continue
		case ok:
			return nil, fmt.Errorf("two different parameters are named %q", p.Name)
		case p.Value.Dtype() != tensor.Float32 && p.Value.Dtype() != tensor.Float64:
			return nil, fmt.Errorf("parameter %q holds %v, expected float32 or float64", p.Name, p.Value.Dtype())
		}
		named[p.Name] = p
		all = append(all, p)
	}
	return all, nil
}

// checkShapes returns an error that names the first array of another shape than its
// parameter. The error names all such arrays if there are several.
func (f *weightFile) checkShapes(names []string, params []*graph.Param, l layouts) error {
	var first error
	var wrong []string
	for i, p := range params {
		got, want := f.arrays[names[i]].Shape(), l.of(p).stored(p.Value.Shape())
		if slices.Equal(got, want) {
			continue
		}
		if first == nil {
			first = &ShapeError{f.at(names[i]), got, want, p.Name}
		}
		wrong = append(wrong, names[i])
	}
	if len(wrong) > 1 {
		return fmt.Errorf("%w; %d arrays have other shapes than the network's: %s", first, len(wrong), list(wrong))
	}
	return first
}

// stage checks the elements of the array called name, which has the shape of p in the
// layout l, and returns what copies it into p.
func (f *weightFile) stage(name string, p *graph.Param, l Layout) (func(), error) {
	a := f.arrays[name]
	commit, err := stage(p, a, l == OutIn && a.Dims() == 2)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.at(name), err)
	}
	return commit, nil
}

// stage returns what copies a, transposed or as it is, into p, once every value is known to fit.
func stage(p *graph.Param, a *tensor.Dense, transposed bool) (func(), error) {
	dt := p.Value.Dtype()
	if got := a.Dtype(); got != tensor.Float32 && got != tensor.Float64 {
		return nil, fmt.Errorf("holds %v, expected float32 or float64", got)
	}
	if i, x := graph.FirstNonFinite(a); i >= 0 {
		return nil, fmt.Errorf("element %d is %g, expected finite numbers", i, x)
	}
	v := graph.Convert(a, dt)
	if i, _ := graph.FirstNonFinite(v); i >= 0 {
		return nil, fmt.Errorf("element %d is %g, too large for a network of %v", i, graph.Floats(a)[i], dt)
	}
	if transposed {
		if err := v.T(); err != nil {
			return nil, err
		}
		v = v.Materialize().(*tensor.Dense)
	}
	return func() { dense.Put(p.Value, 0, v, 0, v.Shape()[0]) }, nil
}
