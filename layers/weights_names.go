package layers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// A convention is a way to name the arrays of a network in a file.
type convention struct {
	layout Layout // of dense weights, where their shapes do not tell
	// names returns for each parameter the name of its array, whether or not
	// the file has it; nil where the file does not follow the convention at all.
	names func(f *weightFile, params []*graph.Param) ([]string, error)
}

// conventions are tried in this order. A new one is a row here.
var conventions = []convention{
	{OutIn, ownTorchNames},
	{InOut, ownNames},
	{OutIn, shapedLayers},
	{OutIn, layerNames(torchLayers)},
	{InOut, layerNames(numberedLayers)},
}

// match returns for each parameter the name of its array. It takes the naming convention under
// which every parameter has an array and every array a parameter, and also returns the usual
// layout of that convention. If no convention fits, the error comes from the first one that
// the file follows in part.
func (f *weightFile) match(params []*graph.Param) ([]string, Layout, error) {
	var first error
	for _, c := range conventions {
		names, err := c.names(f, params)
		if err == nil && names == nil {
			continue
		}
		if err == nil {
			err = f.check(names)
		}
		if err == nil {
			return names, c.layout, nil
		}
		first = cmp.Or(first, err)
	}
	if first == nil {
		first = f.check(Names(params))
	}
	return nil, "", fmt.Errorf("%w; the file looks like %s", first, f.looks())
}

// check returns an error unless the file has the arrays called names, and no others.
func (f *weightFile) check(names []string) error {
	var problems []string
	expected := map[string]bool{}
	for _, name := range names {
		expected[name] = true
	}
	has := func(name string) bool { return f.arrays[name] != nil }
	if missing := slices.DeleteFunc(slices.Clone(names), has); len(missing) > 0 {
		problems = append(problems, "missing "+list(missing))
	}
	known := func(name string) bool { return expected[name] || isCounter(name) }
	if extra := slices.DeleteFunc(slices.Clone(f.names), known); len(extra) > 0 {
		problems = append(problems, "not expected "+list(extra))
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s; there are %d arrays: %s",
		f.path, strings.Join(problems, ", "), len(f.names), list(f.names))
}

// list quotes names for a message, the first few of many.
func list(names []string) string {
	const most = 8
	var quoted []string
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	if more := len(names) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("… (%d more)", more))
	}
	return "[" + strings.Join(quoted, " ") + "]"
}

// aliases are other names of arrays in files, by the names in networks.
var aliases = map[string]string{"fc.weight": "linear.weight", "fc.bias": "linear.bias"}

// ownNames is the convention of Save, and of PyTorch's state dictionaries for a network with the
// names of the state dictionary. All names in the file may begin with modules around the network, such as
// module., model. or both.
func ownNames(f *weightFile, params []*graph.Param) ([]string, error) {
	if len(f.names) == 0 {
		return nil, nil
	}
	around := ""
	for {
		own := Names(params)
		for i, name := range own {
			own[i] = around + name
			if other := around + aliases[name]; f.arrays[own[i]] == nil && f.arrays[other] != nil {
				own[i] = other
			}
		}
		if slices.ContainsFunc(own, func(name string) bool { return f.arrays[name] != nil }) {
			return own, nil
		}
		module, _, ok := strings.Cut(strings.TrimPrefix(f.names[0], around), ".")
		around += module + "."
		if outside := func(name string) bool { return !strings.HasPrefix(name, around) }; !ok || slices.ContainsFunc(f.names, outside) {
			return nil, nil
		}
	}
}

// ownTorchNames is ownNames for a file of PyTorch or safetensors, which has dense weights [out, in] under any names but W1, W2, ….
func ownTorchNames(f *weightFile, params []*graph.Param) ([]string, error) {
	if !f.torch {
		return nil, nil
	}
	return ownNames(f, params)
}

// Names returns the names of parameters.
func Names(params []*graph.Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// denseNames are the names of the two arrays of a dense layer.
type denseNames struct{ weight, bias string }

// A layerFinder lists the dense layers of a file in their order; none where the
// file does not follow its convention. The arrays may turn out to be missing.
type layerFinder func(f *weightFile) ([]denseNames, error)

// layerNames is the convention that gives the arrays that find lists to the dense
// layers of the network, which must have no other parameters.
func layerNames(find layerFinder) func(*weightFile, []*graph.Param) ([]string, error) {
	return func(f *weightFile, params []*graph.Param) ([]string, error) {
		if !denseOnly(params) || slices.ContainsFunc(f.names, f.isImages) {
			return nil, nil
		}
		layers, err := find(f)
		if err != nil || len(layers) == 0 {
			return nil, err
		}
		if got, want := len(layers), len(params)/2; got != want {
			return nil, fmt.Errorf("%s: %d dense layers, the network has %d; there are %d arrays: %s",
				f.path, got, want, len(f.names), list(f.names))
		}
		return flatten(layers), nil
	}
}

// isImages says whether an array belongs to a layer of images.
func (f *weightFile) isImages(name string) bool { return f.arrays[name].Dims() > 2 || isCounter(name) }

func flatten(layers []denseNames) []string {
	var names []string
	for _, l := range layers {
		names = append(names, l.weight, l.bias)
	}
	return names
}

// denseOnly says whether all params belong to dense layers: their shapes are [in, out], [out], …
func denseOnly(params []*graph.Param) bool {
	for pair := range slices.Chunk(params, 2) {
		if len(pair) < 2 {
			return false
		}
		w, b := pair[0].Value.Shape(), pair[1].Value.Shape()
		if len(w) != 2 || !slices.Equal(b, tensor.Shape{w[1]}) {
			return false
		}
	}
	return true
}

// numberedLayers finds W1, b1, W2, b2, …
func numberedLayers(f *weightFile) ([]denseNames, error) {
	numbers := map[string]bool{}
	for _, name := range f.names {
		if m := numbered.FindStringSubmatch(name); m != nil {
			numbers[m[1]] = true
		}
	}
	var layers []denseNames
	for i := range len(numbers) {
		layers = append(layers, denseNames{fmt.Sprint("W", i+1), fmt.Sprint("b", i+1)})
	}
	return layers, nil
}

var (
	numbered  = regexp.MustCompile(`^[Wb]([1-9][0-9]*)$`)
	torchName = regexp.MustCompile(`^((?:.*\.)?)(?:weight|bias)$`)
	digits    = regexp.MustCompile(`[0-9]+`)
)

// torchLayers finds the pairs K.weight, K.bias of a PyTorch state dictionary.
func torchLayers(f *weightFile) ([]denseNames, error) {
	var prefixes []string
	seen := map[string]bool{}
	for _, name := range f.names {
		if m := torchName.FindStringSubmatch(name); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			prefixes = append(prefixes, m[1])
		}
	}
	if families := sortNumbered(prefixes); families > 1 && f.sorted {
		return nil, f.orderUnknown(prefixes)
	}
	var layers []denseNames
	for _, p := range prefixes {
		layers = append(layers, denseNames{p + "weight", p + "bias"})
	}
	return layers, nil
}

// sortNumbered orders names that differ in nothing but their numbers by these.
// Such a family keeps the places it has: net.0, net.10, net.2, out becomes
// net.0, net.2, net.10, out. It returns the number of families.
func sortNumbered(names []string) int {
	places := map[string][]int{}
	for i, name := range names {
		family := digits.ReplaceAllString(name, "0")
		places[family] = append(places[family], i)
	}
	for _, at := range places {
		var members []string
		for _, i := range at {
			members = append(members, names[i])
		}
		slices.SortStableFunc(members, compareNumbers)
		for k, i := range at {
			names[i] = members[k]
		}
	}
	return len(places)
}

// compareNumbers compares the numbers in two strings, the first one first.
func compareNumbers(a, b string) int {
	return slices.CompareFunc(digits.FindAllString(a, -1), digits.FindAllString(b, -1), func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}
