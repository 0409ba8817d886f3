package valla

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// The zero value of each field is its default, and what the tags say is what is meant.
func TestDefaults(t *testing.T) {
	n, err := Network{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inJSON(t, settings.Map(&n)), `{"activation":"tanh","dtype":"float64","form":"mlp","hidden":[50,50]}`; got != want {
		t.Errorf("network %s, want %s", got, want)
	}
	tr, err := Training{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"batch-size":100,"learning-rate":0.01,"optimizer":"adam","schedule":"cosine","validate-every":100,"validation":0.1}`
	if got := inJSON(t, settings.Map(&tr)); got != want {
		t.Errorf("training %s, want %s", got, want)
	}
	// Completing what is complete changes nothing.
	again, err := n.complete()
	if err != nil || inJSON(t, again) != inJSON(t, n) {
		t.Errorf("%+v became %+v, error %v", n, again, err)
	}
	if twice, err := tr.complete(); err != nil || inJSON(t, twice) != inJSON(t, tr) {
		t.Errorf("%+v became %+v, error %v", tr, twice, err)
	}
}

// Every setting is documented and reads what it writes.
func TestSettingsAreDocumented(t *testing.T) {
	for _, s := range []any{&Network{}, &Training{}} {
		for _, f := range settings.Of(s) {
			if f.Help == "" || strings.ToLower(f.Name) != f.Name || strings.HasSuffix(f.Help, ".") {
				t.Errorf("%T: setting %q, help %q", s, f.Name, f.Help)
			}
			if f.Default != "" {
				if err := f.Set(f.Default); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestOptimizer(t *testing.T) {
	if o, ok := (Training{LearningRate: 2, WeightDecay: new(3.0)}).optimizer().(*train.Adam); !ok || o.LR != 2 || o.WeightDecay != 3 {
		t.Errorf("adam: %+v", o)
	}
	if o, ok := (Training{Optimizer: "sgd", LearningRate: 2, Momentum: 0.5, WeightDecay: new(0.0)}).optimizer().(*train.SGD); !ok || o.LR != 2 || o.Momentum != 0.5 || o.WeightDecay != 0 {
		t.Errorf("sgd: %+v", o)
	}
	if _, err := (Training{Optimizer: "sgd", Momentum: 0.9}).complete(); err != nil {
		t.Error(err)
	}
	for _, name := range settings.Lookup(&Training{}, "schedule").Choices {
		if schedules[name] == nil {
			t.Errorf("no schedule %q", name)
		}
	}
	for _, name := range settings.Lookup(&Network{}, "dtype").Choices {
		if dtypes[name] == (tensor.Dtype{}) {
			t.Errorf("no dtype %q", name)
		}
	}
}

// The activations that the setting offers are those that there are.
func TestActivations(t *testing.T) {
	var all []string
	for _, a := range layers.Activations() {
		all = append(all, string(a))
	}
	if got := settings.Lookup(&Network{}, "activation").Choices; !slices.Equal(slices.Sorted(slices.Values(got)), all) {
		t.Errorf("choices %q, activations %q", got, all)
	}
}

func TestDescribe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if err := os.WriteFile(path, []byte(`{"kind":"waist","inputs":2,"waist":7,"outputs":3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n     Network
		input []int
		want  string
	}{
		{Network{}, []int{4}, "4-50-50-3 tanh"},
		{Network{Hidden: []int{}}, []int{4}, "4-3"},
		{Network{Form: "mlp", Hidden: []int{5}, Activation: "relu"}, []int{2, 3, 4}, "24-5-3 relu"},
		{Network{Form: "cnn"}, []int{1, 8, 8}, "CNN 1×8×8, filters 16-32, dense 50-50-3 tanh"},
		{Network{Form: "resnet20"}, []int{3, 32, 32}, "ResNet-20, projection shortcuts, 3 outputs"},
		{Network{Form: "resnet18"}, []int{3, 64, 64}, "ResNet-18 for large images, projection shortcuts, 3 outputs"},
		{Network{Form: "resnet50", Shortcut: "zero-pad"}, []int{1, 64, 48}, "ResNet-50 for large images, zero-pad shortcuts, 3 outputs"},
		{Network{Form: path}, []int{2}, "waist of 7"},
	} {
		f, err := c.n.Describe(c.input, 3)
		if err != nil || f.String() != c.want {
			t.Errorf("%+v on %v: %v, error %v, want %s", c.n, c.input, f, err, c.want)
		}
	}
}

func TestDescribeErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"kind":"cube"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n       Network
		input   []int
		want    string
		setting bool
	}{
		{Network{Form: "unet"}, []int{3, 8, 8}, `form "unet" of the network, expected mlp, cnn`, true},
		{Network{Form: "resnet"}, []int{3, 8, 8}, `form "resnet"`, true},
		{Network{Form: "resnet21"}, []int{3, 8, 8}, "21", true},
		{Network{Form: "resnet20"}, []int{8}, "takes images of channels, rows and columns", true},
		{Network{Form: "cnn", Shortcut: "projection"}, []int{3, 8, 8}, "shortcut for a network of the form cnn", true},
		{Network{Form: "resnet8", Hidden: []int{3}}, []int{3, 8, 8}, "hidden for a network of the form resnet8", true},
		{Network{Form: bad, Activation: "tanh"}, []int{3}, "activation for a network of the form", true},
		{Network{Form: "resnet8", Shortcut: "none"}, []int{3, 8, 8}, "shortcut: expected one of projection, zero-pad", true},
		{Network{Std: []float64{0}}, []int{3}, "std", true},
		{Network{Form: "cnn", Filters: []int{1, 1, 1}}, []int{1, 2, 2}, "", false},
		{Network{Form: bad}, []int{3}, bad, false},
		{Network{Form: filepath.Join(dir, "none.json")}, []int{3}, "none.json", false},
	} {
		f, err := c.n.Describe(c.input, 3)
		oneLine(t, err, c.want)
		if f != nil || errors.Is(err, ErrSetting) != c.setting {
			t.Errorf("%+v: form %v, error %v", c.n, f, err)
		}
	}
}

// Holdout divides the rows: none is lost, none is in both.
func TestHoldout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, fraction := rapid.IntRange(2, 300).Draw(t, "n"), rapid.Float64Range(0, 0.99).Draw(t, "fraction")
		seed := rapid.Uint64().Draw(t, "seed")
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i)
		}
		set := &data.Set{Features: []string{"a"}, Targets: []string{"y"}, X: denseOf(v, n, 1), Y: denseOf(slices.Clone(v), n, 1)}
		rows, held, err := holdout.Split(set, fraction, seed)
		want := int(math.Round(fraction * float64(n)))
		if fraction > 0 && (want == 0 || want == n) {
			if err == nil || rows != nil || held != nil {
				t.Fatalf("%g of %d rows: %v", fraction, n, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Clone(rows.X.Float64s())
		if held != nil {
			all = append(all, held.X.Float64s()...)
			if held.N() != want {
				t.Fatalf("%d rows held out of %d, want %d", held.N(), n, want)
			}
		}
		if (held == nil) != (fraction == 0) || !slices.Equal(slices.Sorted(slices.Values(all)), v) || !slices.Equal(rows.X.Float64s(), rows.Y.Float64s()) {
			t.Fatalf("%g of %d rows: rows lost or doubled", fraction, n)
		}
		again, _, err := holdout.Split(set, fraction, seed)
		if err != nil || !slices.Equal(again.X.Float64s(), rows.X.Float64s()) {
			t.Fatal("the same seed holds out other rows")
		}
	})
}

func TestHoldoutLimits(t *testing.T) {
	n := 3 * holdout.Most
	big := &data.Set{X: denseOf(make([]float64, n), n, 1), Y: denseOf(make([]float64, n), n, 1)}
	rows, held, err := holdout.Split(big, 0.9, 0)
	if err != nil || held.N() != holdout.Most || rows.N() != n-holdout.Most {
		t.Errorf("held out %d of %d, error %v", held.N(), n, err)
	}
	for _, f := range []float64{-0.1, 1, 5, math.NaN(), math.Inf(1)} {
		rows, held, err := holdout.Split(big, f, 0)
		oneLine(t, err, fmt.Sprintf("validation fraction %g", f))
		if rows != nil || held != nil || !errors.Is(err, ErrSetting) {
			t.Errorf("fraction %g: %v", f, err)
		}
	}
	a, _, err := holdout.Split(wave(50, 1), 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := holdout.Split(wave(50, 1), 0.5, 2)
	if err != nil || slices.Equal(a.X.Float64s(), b.X.Float64s()) {
		t.Errorf("two seeds hold out the same rows, error %v", err)
	}
}
