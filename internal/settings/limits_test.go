package settings

import "testing"

func TestLimits(t *testing.T) {
	var s struct {
		A int     `set:"a" min:"1"`
		B float64 `set:"b" above:"0" below:"2.5"`
		C float64 `set:"c" min:"0" max:"1"`
		D float64 `set:"d"`
		E string  `set:"e" choice:"x y"`
	}
	want := map[string]string{"a": "at least 1", "b": "above 0, below 2.5", "c": "at least 0, at most 1", "d": "", "e": ""}
	for _, f := range Of(&s) {
		if got := f.Limits(); got != want[f.Name] {
			t.Errorf("%s: limits %q, want %q", f.Name, got, want[f.Name])
		}
	}
	if err := Lookup(&s, "b").Set("2.5"); err == nil {
		t.Error("a number that the limits exclude is accepted")
	}
}
