package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completed returns what a shell offers after these words.
func completed(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	r := run(t, dir, append([]string{"__complete"}, words...)...)
	if r.code != 0 {
		t.Fatalf("valla __complete %q: exit code %d, %s", words, r.code, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[:len(lines)-1] // the last line is a number for the shell
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "houses.csv"), []byte("rooms,area,price\n1,2,3\n2,3,4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"fit houses.csv --method ", []string{"valla", "lla", "gapa"}},
		{"fit houses.csv --method lla --structure ", []string{"full", "kfac"}},
		{"train houses.csv --target ", []string{"rooms", "area", "price"}},
		{"train houses.csv --target price,", []string{"price,rooms", "price,area"}},
		{"compare houses.csv --methods lla,", []string{"lla,temperature", "lla,valla"}},
		{"predict houses.csv --link ", []string{"probit", "mc"}},
		{"predict houses.csv --model ", []string{"valla"}},
		{"method show ", []string{"valla", "lla"}},
		{"experiment run ", []string{"toy", "uci"}},
		{"data get ", []string{"mnist"}},
		{"", []string{"train", "fit", "report", "version"}},
	} {
		words := strings.Split(c.words, " ")
		got := completed(t, dir, words...)
		for i, g := range got {
			got[i], _, _ = strings.Cut(g, "\t")
		}
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("valla %s: %q lacks %q", c.words, got, want)
			}
		}
	}
	if got := completed(t, dir, "train", "none.csv", "--target", ""); len(got) != 0 {
		t.Errorf("columns %q of no table", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if !strings.Contains(must(t, dir, "completion", shell), "valla") {
			t.Errorf("no script for %s", shell)
		}
	}
}

func TestVersionCommand(t *testing.T) {
	dir := t.TempDir()
	var b struct{ Version, Go, Platform, Assembly string }
	if err := json.Unmarshal([]byte(must(t, dir, "version", "--json")), &b); err != nil {
		t.Fatal(err)
	}
	text := must(t, dir, "version")
	for _, want := range []string{b.Version, b.Go, b.Platform, b.Assembly} {
		if want == "" || !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// Every command has a manual page.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "man", "a")
	pages, err := filepath.Glob(filepath.Join(dir, "a", "*.1"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, error %v", len(pages), err)
	}
	fit, err := os.ReadFile(filepath.Join(dir, "a", "valla-fit.1"))
	if err != nil || !strings.Contains(string(fit), "--method") {
		t.Errorf("the page of valla fit lacks its flags: %v", err)
	}
	fails(t, dir, 2, "expected one folder", "man")
}
