package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/settings"
)

// All profiles of all embedded experiments can be read, and each of their rows makes rows of
// a table with settings that fit.
func TestEmbedded(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "toy uci year airline taxi airline-nycflights13 taxi-green mnist fmnist cifar10" {
		t.Errorf("experiments %s", got)
	}
	for _, name := range Names() {
		text, ok := Text(name)
		if !ok {
			t.Fatalf("no text of %s", name)
		}
		first, err := Read(name+".yaml", text, "")
		if err != nil {
			t.Fatal(err)
		}
		if first.Name != name || first.About == "" || !slices.Equal(first.Profiles[:2], []string{"full", "quick"}) || first.Profile != "full" {
			t.Errorf("%s: %q, profiles %q", name, first.About, first.Profiles)
		}
		for _, profile := range first.Profiles {
			e, err := Read(name+".yaml", text, profile)
			if err != nil {
				t.Fatal(err)
			}
			if err := settings.Check(&e.MAP); err != nil {
				t.Errorf("%s %s: %v", name, profile, err)
			}
			for _, row := range e.Methods {
				variants, err := row.Variants()
				if err != nil || len(variants) == 0 {
					t.Errorf("%s %s: %+v has %d rows, error %v", name, profile, row, len(variants), err)
				}
				for _, v := range variants {
					if v.Settings == nil {
						continue
					}
					if err := settings.Check(v.Settings); err != nil {
						t.Errorf("%s %s %s: %v", name, profile, v.Label, err)
					}
				}
			}
		}
	}
	for _, name := range []string{"", "none", "../spec/toy", "./toy", "toy.yaml"} {
		if _, ok := Text(name); ok {
			t.Errorf("there is an experiment %q", name)
		}
	}
}

// labels returns the labels of an experiment's table of a data set.
func labels(t *testing.T, name, profile, data string) []string {
	t.Helper()
	text, _ := Text(name)
	e, err := Read(name, text, profile)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, row := range e.Methods {
		if !row.For(data) {
			continue
		}
		variants, err := row.Variants()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variants {
			list = append(list, v.Label)
		}
	}
	return list
}

// The labels equal the published tables' labels, by which those tables stand beside ours.
func TestEmbeddedLabels(t *testing.T) {
	large := []string{"MAP", "LLA Diag", "LLA KFAC", "LLA last-layer", "LLA last-layer KFAC", "ELLA", "Sampled LLA"}
	natural := []string{"FMGP 100", "SFR-NN", "SFR", "GAPA", "VaLLA 100", "VaLLA 200", "VaLLA 100 natural", "VaLLA 200 natural", "VaLLA 100 + GAPA"}
	for _, name := range []string{"year", "airline", "taxi", "airline-nycflights13", "taxi-green", "mnist", "fmnist"} {
		for _, profile := range []string{"full", "quick"} {
			want := slices.Concat(large, natural)
			if name == "taxi-green" || name == "airline-nycflights13" {
				want = slices.Insert(want, len(want)-1, "VaLLA 100 + t", "VaLLA 100 + law", "VaLLA 100, t inside", "FMGP 100 + law", "LLA KFAC + law", "MAP + law")
			}
			if strings.HasSuffix(name, "mnist") {
				after := slices.Index(natural, "GAPA") + 1
				want = slices.Concat(large, []string{"Sampled LLA CG"}, natural[:after], []string{"MF-VI", "MF-VI, no noise", "SNGP", "SNGP, bound 0.95"}, natural[after:])
			}
			if got := labels(t, name, profile, name); !slices.Equal(got, want) {
				t.Errorf("%s %s: %q", name, profile, got)
			}
		}
	}
	for _, c := range []struct{ name, profile, data, want string }{
		{"cifar10", "full", "cifar10", "MAP|LLA last-layer|LLA last-layer KFAC|LLA Diag|LLA KFAC|ELLA|Sampled LLA|Sampled LLA CG, 6 samples|FMGP 20|FMGP 20, median length|GAPA|MF-VI|MF-VI, no noise|SNGP|SNGP, 250 epochs|GP-Subset|VaLLA 100 natural|VaLLA 100 + GAPA|VaLLA"},
		{"cifar10", "quick", "cifar10", "MAP|LLA last-layer|LLA last-layer KFAC|FMGP 20|VaLLA 100 natural"},
		{"cifar10", "cheap", "cifar10", "MAP|LLA last-layer|LLA last-layer KFAC|FMGP 20|LLA Diag|FMGP 20, median length|GAPA|SNGP|VaLLA 100 natural"},
		{"uci", "full", "yacht", "MAP|LLA|LLA last-layer|LLA KFAC|LLA Diag|ELLA|Sampled LLA|MoE LLA|FMGP 100|SFR-NN|SFR|GAPA|VaLLA 100|VaLLA 100 natural|VaLLA 100 + t|VaLLA 100 + law|VaLLA 100, t inside|FMGP 100 + law|LLA KFAC + law|MAP + law|VaLLA 100 + GAPA"},
		{"toy", "quick", "toy1d", "MAP|LLA|LLA last-layer|LLA KFAC|LLA Diag|ELLA 5|ELLA 10|ELLA 20|Sampled LLA|MoE LLA|FMGP 10|SFR-NN 5|SFR-NN 10|SFR-NN 20|GAPA|VaLLA 5|VaLLA 10|VaLLA 20"},
		{"toy", "quick", "sine", "MAP|LLA|VaLLA 5, with validation|VaLLA 10, with validation|VaLLA 20, with validation|VaLLA 5, without|VaLLA 10, without|VaLLA 20, without"},
	} {
		if got := strings.Join(labels(t, c.name, c.profile, c.data), "|"); got != c.want {
			t.Errorf("%s %s, %s: %s", c.name, c.profile, c.data, got)
		}
	}
}

// The profiles change what they are for.
func TestEmbeddedProfiles(t *testing.T) {
	setting := func(name, profile, label, setting string) string {
		text, _ := Text(name)
		e, err := Read(name, text, profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range e.Methods {
			variants, err := row.Variants()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range variants {
				if v.Label == label {
					return settings.Lookup(v.Settings, setting).Text()
				}
			}
		}
		t.Fatalf("%s has no row %s", name, label)
		return ""
	}
	for _, c := range [][4]string{
		{"mnist", "VaLLA 200", "iterations", "40000 2000"}, {"mnist", "VaLLA 100", "prior-std", " 0.1"}, {"mnist", "VaLLA 100 natural", "iterations", "2000 500"},
		{"year", "VaLLA 100", "batch-size", " 400"}, {"year", "VaLLA 100", "patience", "0 0"}, {"uci", "VaLLA 100", "iterations", "5000 2000"},
		{"taxi", "VaLLA 100 natural", "noise-std", "0.0820849986238988 0.0820849986238988"}, {"cifar10", "VaLLA 100 natural", "iterations", "100 100"},
	} {
		if got := setting(c[0], "full", c[1], c[2]) + " " + setting(c[0], "quick", c[1], c[2]); got != c[3] {
			t.Errorf("%s, %s: %s is %q, expected %q", c[0], c[1], c[2], got, c[3])
		}
	}
}

// A profile of images sets its own number of corrupted images, since it takes over missing keys.
func TestCorruptions(t *testing.T) {
	text, _ := Text("cifar10")
	for profile, want := range map[string]int{"full": 10000, "quick": 100, "clean": 0, "cheap": 0, "corrupted": 1000} {
		e, err := Read("cifar10.yaml", text, profile)
		if err != nil || e.Scoring.Corruptions != want || e.Scoring.MonteCarlo != 2048 {
			t.Errorf("%s: scoring %+v, error %v", profile, e.Scoring, err)
		}
	}
}
