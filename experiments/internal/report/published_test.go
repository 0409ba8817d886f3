package report

import (
	"math"
	"slices"
	"testing"
)

// Every row of the published files comes to a place, under the labels of our tables.
func TestPublishedPlaces(t *testing.T) {
	family := []string{"MAP", "LLA Diag", "LLA KFAC", "LLA last-layer", "LLA last-layer KFAC"}
	for data, kind := range map[string]string{"mnist": "probit", "fmnist": "probit", "year": "", "airline": "", "taxi": ""} {
		p := publishedFor(data)
		for _, method := range append(slices.Clone(family), "VaLLA 100", "VaLLA 200", "ELLA") {
			v, ok := p.printed[place{method, kind}]
			if !ok || !slices.Contains(p.order, method) {
				t.Errorf("%s: %s is not printed", data, method)
			}
			for name, x := range v {
				if math.IsNaN(x) || name == "ACC" && !(x > 0.5 && x < 1) {
					t.Errorf("%s: %s has %s %v", data, method, name, x)
				}
			}
		}
		for _, method := range append(slices.Clone(family), "VaLLA 100", "VaLLA 200") {
			if _, ok := p.runs[place{method, kind}]; !ok {
				t.Errorf("%s: there are no runs of %s", data, method)
			}
		}
		if _, ok := p.runs[place{"MAP", "mc"}]; ok {
			t.Errorf("%s: MAP has Monte Carlo probabilities", data)
		}
	}
	for net := range paperNets {
		p := publishedFor(net)
		if v := p.runs[place{"FMGP 20", "mc"}]; len(p.order) != 11 || len(p.runs) < 1 || !(v["NLL"] > 0.18 && v["ECE"] < 0.01) {
			t.Errorf("%s: methods %q and runs %v", net, p.order, p.runs)
		}
		for _, method := range append(slices.Clone(family), "VaLLA 100", "GP-Subset", "MF-VI", "SNGP") {
			kind := "mc"
			switch method {
			case "MAP":
				kind = "probit"
			case "MF-VI", "SNGP":
				kind = "own"
			}
			if _, ok := p.printed[place{method, kind}]; !ok {
				t.Errorf("%s: %s is not printed", net, method)
			}
		}
	}
}

// Every row of the authors' runs on a data set of ours has a name of its own.
func TestRunsAreRead(t *testing.T) {
	count := map[string]int{}
	for _, r := range rows("authors_runs") {
		count[r["dataset"]]++
	}
	for _, r := range rows("fmgp_runs") {
		count[paperData[r["data"]]]++
	}
	for data, name := range paperData {
		with := 0
		for at := range publishedFor(data).runs {
			if at.probs != "mc" {
				with++
			}
		}
		if with != count[name] || with == 0 {
			t.Errorf("%s: %d places of %d rows", data, with, count[name])
		}
	}
}

func TestOurName(t *testing.T) {
	for _, c := range []struct{ method, m, structure, want string }{
		{"VaLLA", "100", "", "VaLLA 100"}, {"VaLLA", "20.0", "", "VaLLA 20"}, {"MAP", "", "", "MAP"}, {"LLA", "", "all kron", "LLA KFAC"},
		{"LLA", "", "last_layer full", "LLA last-layer"}, {"LLA", "", "last_layer diag", "LLA last-layer Diag"}, {"ELLA", "", "other", "ELLA"},
	} {
		if got := ourName(map[string]string{"method": c.method, "M": c.m, "structure": c.structure}); got != c.want {
			t.Errorf("%+v is called %q", c, got)
		}
	}
}

func TestNumber(t *testing.T) {
	if got := number("1.5e-3"); got != 1.5e-3 {
		t.Errorf("number %v", got)
	}
	for _, text := range []string{"", "-", "n/a"} {
		if got := number(text); !math.IsNaN(got) {
			t.Errorf("%q is the number %v", text, got)
		}
	}
}
