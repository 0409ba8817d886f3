package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/method"
)

func TestOverrides(t *testing.T) {
	e := open(t, small)
	err := Overrides{Seeds: []uint64{7, 5, 7}, Methods: []string{"map", "valla"}, Inducing: []int{3, 9}, Iterations: 9, Rotations: true}.Apply(e)
	if err != nil || len(e.Methods) != 4 || fmt.Sprint(e.Seeds) != "[5 7]" || e.Scoring.Rotations == 0 {
		t.Fatalf("experiment %+v, error %v", e, err)
	}
	for i, want := range map[int]string{
		0: "[{MAP 0}]",
		1: "[{VaLLA 3 3} {VaLLA 9 9}]",
		2: "[{VaLLA 3 natural 3} {VaLLA 9 natural 9}]",
		3: "[{start of LLA, inducing 3 3} {start of LLA, inducing 9 9}]",
	} {
		variants, err := e.Methods[i].Variants()
		if err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Label    string
			Inducing int
		}
		for _, v := range variants {
			got = append(got, struct {
				Label    string
				Inducing int
			}{v.Label, v.Inducing})
		}
		if fmt.Sprint(got) != want {
			t.Errorf("row %d: %v, want %s", i, got, want)
		}
	}
	groups, err := (&runner{spec: e}).plan()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, c := range g.cells {
			if own, _ := c.settings[len(c.settings)-3].(map[string]any); c.Method == "valla" && own["iterations"] != 9 {
				t.Errorf("%s: settings %v", c.Row, own)
			}
		}
	}
	other := open(t, small)
	if err := (Overrides{Net: "resnet20"}).Apply(other); err != nil || other.Network.Form != "resnet20" {
		t.Errorf("form %q, error %v", other.Network.Form, err)
	}
}

// The zero value changes nothing, and a number that the experiment has is kept.
func TestNoOverrides(t *testing.T) {
	e := open(t, strings.Replace(small, "methods:", "scoring: {rotations: 5}\nmethods:", 1))
	before := fmt.Sprintf("%+v", e)
	if err := (Overrides{Rotations: true}).Apply(e); err != nil || fmt.Sprintf("%+v", e) != before {
		t.Errorf("%+v became %+v, error %v", before, e, err)
	}
}

func TestOverrideErrors(t *testing.T) {
	for want, o := range map[string]Overrides{
		`unknown method "magic", expected some of map, ` + strings.Join(method.Names(), ", "): {Methods: []string{"magic"}},
		"inducing: expected an integer at least 1":                                            {Inducing: []int{-1}},
		`form "resnet" of the network, expected mlp, cnn`:                                     {Net: "resnet"},
		`iterations: expected an integer at least 1`:                                          {Iterations: -2},
		`one row with the label "VaLLA 3" in the table of boston, found two`:                  {Inducing: []int{3}},
	} {
		text := strings.Replace(small, "start of LLA", "VaLLA {}", 1)
		err := o.Apply(open(t, text))
		if !errors.Is(err, valla.ErrSetting) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	only := open(t, "{name: a, data: boston, methods: [{method: map}]}")
	if err := (Overrides{Methods: []string{"lla"}}).Apply(only); err == nil || !strings.Contains(err.Error(), "a has none of the methods lla") {
		t.Errorf("error %v", err)
	}
}

// A cell is the same cell whichever other seeds are run: turned images are scored with the first
// seed of the file, or, where they are asked for, with the first seed that is run.
func TestShiftSeed(t *testing.T) {
	turned := strings.Replace(small, "seeds: [0, 1]", "seeds: [0, 1, 2]\nscoring: {rotations: 5}", 1)
	scored := func(o Overrides) (seeds []uint64) {
		e := open(t, turned)
		if err := o.Apply(e); err != nil {
			t.Fatal(err)
		}
		groups, err := (&runner{spec: e}).plan()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			for _, c := range g.cells {
				if c.scoring.Rotations > 0 && !slices.Contains(seeds, c.Seed) {
					seeds = append(seeds, c.Seed)
				}
			}
		}
		return seeds
	}
	for _, c := range []struct {
		o    Overrides
		want string
	}{
		{Overrides{}, "[0]"},
		{Overrides{Seeds: []uint64{1, 2}}, "[]"},
		{Overrides{Seeds: []uint64{0, 2}}, "[0]"},
		{Overrides{Seeds: []uint64{1, 2}, Rotations: true}, "[1]"},
	} {
		if got := fmt.Sprint(scored(c.o)); got != c.want {
			t.Errorf("%+v: cells of seeds %s score turned images, want %s", c.o, got, c.want)
		}
	}
}
