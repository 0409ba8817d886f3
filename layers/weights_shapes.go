package layers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

// group is the arrays of one layer: those whose names begin alike.
type group struct {
	prefix  string   // with the dot, if there is one
	endings []string // of the names: weight, bias, running_mean, running_var
	form    string   // tells the endings and shapes; a matrix and its transpose have one form
}

var layerArray = regexp.MustCompile(`^((?:.*\.)?)(weight|bias|running_mean|running_var)$`)

// groups divides arrays by layers, in the order in which these first appear. It returns nil if
// an array has no name of a layer.
func groups(names []string, shape func(name string) []int) []*group {
	var all []*group
	at := map[string]*group{}
	for _, name := range names {
		m := layerArray.FindStringSubmatch(name)
		if m == nil {
			return nil
		}
		g := at[m[1]]
		if g == nil {
			g = &group{prefix: m[1]}
			at[m[1]] = g
			all = append(all, g)
		}
		g.endings = append(g.endings, m[2])
	}
	for _, g := range all {
		slices.Sort(g.endings)
		for _, e := range g.endings {
			s := slices.Clone(shape(g.prefix + e))
			if len(s) == 2 {
				slices.Sort(s)
			}
			g.form += fmt.Sprint(e, " ", s, " ")
		}
	}
	return all
}

// fileGroups are the layers of a file. Numbered ones are in the order of the numbers.
func (f *weightFile) fileGroups() []*group {
	names := slices.DeleteFunc(slices.Clone(f.names), isCounter)
	found := groups(names, func(name string) []int { return f.arrays[name].Shape() })
	prefixes := make([]string, len(found))
	at := map[string]*group{}
	for i, g := range found {
		prefixes[i], at[g.prefix] = g.prefix, g
	}
	sortNumbered(prefixes)
	for i, p := range prefixes {
		found[i] = at[p]
	}
	return found
}

// isCounter says whether an array counts the steps of a training, which no prediction needs.
func isCounter(name string) bool { return strings.HasSuffix(name, ".num_batches_tracked") }

// shapedLayers is the convention of PyTorch's state dictionaries for any network whose layers
// the file has under other names. The layers are in the order of the file; if their shapes do
// not agree with that, the shapes decide.
func shapedLayers(f *weightFile, params []*graph.Param) ([]string, error) {
	shapes := map[string][]int{}
	for _, p := range params {
		shapes[p.Name] = p.Value.Shape()
	}
	own, found := groups(Names(params), func(name string) []int { return shapes[name] }), f.fileGroups()
	if len(own) == 0 || len(own) != len(found) {
		return nil, nil
	}
	alike := func(a, b *group) bool { return a.form == b.form }
	if f.sorted || !slices.EqualFunc(own, found, alike) {
		var err error
		if found, err = f.byShape(own, found); found == nil {
			return nil, err
		}
	}
	prefix := map[string]string{}
	for i, g := range own {
		prefix[g.prefix] = found[i].prefix
	}
	names := make([]string, len(params))
	for i, p := range params {
		m := layerArray.FindStringSubmatch(p.Name)
		names[i] = prefix[m[1]] + m[2]
	}
	return names, nil
}

// byShape returns the layers of the file in the order of the network's. Layers of one form must
// be told apart by numbers. It returns nil if the forms are others.
func (f *weightFile) byShape(own, found []*group) ([]*group, error) {
	var unclear error
	ordered := make([]*group, len(own))
	for i, g := range own {
		if ordered[i] != nil {
			continue
		}
		places, prefixes := []int{}, []string{}
		var same []*group
		for k := range own {
			if own[k].form == g.form {
				places = append(places, k)
			}
			if found[k].form == g.form {
				same, prefixes = append(same, found[k]), append(prefixes, found[k].prefix)
			}
		}
		if len(same) != len(places) {
			return nil, nil
		}
		if sortNumbered(prefixes) > 1 {
			unclear = f.orderUnknown(prefixes)
		}
		for n, k := range places {
			ordered[k] = same[n]
		}
	}
	if unclear != nil {
		return nil, unclear
	}
	return ordered, nil
}

func (f *weightFile) orderUnknown(prefixes []string) error {
	return fmt.Errorf("%s: the order of the layers %s: neither the file nor the shapes tell it; use an .npz archive that has them in order, or the network's names",
		f.path, list(prefixes))
}

// looks describes the network whose arrays the file seems to hold.
func (f *weightFile) looks() string {
	if m, err := f.mlp(Auto); err == nil {
		return "a perceptron " + joinInts(m.widths(), "-")
	}
	found := f.fileGroups()
	if len(found) == 0 {
		return fmt.Sprintf("no network of layers with a weight and a bias: %d arrays", len(f.names))
	}
	if blocks := f.blocks(); blocks != nil {
		return fmt.Sprintf("a residual network with stages of %s blocks", joinInts(blocks, ", "))
	}
	const most = 12
	var parts []string
	for _, g := range found[:min(len(found), most)] {
		parts = append(parts, f.layer(g))
	}
	if more := len(found) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "the layers " + strings.Join(parts, ", ")
}

// layer describes one layer.
func (f *weightFile) layer(g *group) string {
	w := f.arrays[g.prefix+"weight"]
	switch {
	case w == nil:
		return "a bias alone"
	case w.Dims() == 4:
		return "convolution " + dims(w.Shape())
	case w.Dims() == 2:
		return fmt.Sprintf("dense %d to %d", w.Shape()[1], w.Shape()[0])
	case slices.Contains(g.endings, "running_mean"):
		return fmt.Sprint("batch norm ", w.Size())
	}
	return "weights " + dims(w.Shape())
}

var blockName = regexp.MustCompile(`(?:^|\.)layer([1-9])\.([0-9]{1,3})\.`)

// blocks counts the blocks in each stage of a residual network by the names of the arrays.
func (f *weightFile) blocks() []int {
	var count []int
	for _, name := range f.names {
		if m := blockName.FindStringSubmatch(name); m != nil {
			stage, block := int(m[1][0]-'0'), 0
			fmt.Sscan(m[2], &block)
			for len(count) < stage {
				count = append(count, 0)
			}
			count[stage-1] = max(count[stage-1], block+1)
		}
	}
	return count
}
