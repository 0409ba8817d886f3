package command

import "testing"

func TestFlagged(t *testing.T) {
	for text, want := range map[string]string{
		"try method=lla hyper=grid, or more data.":              "try --method lla --hyper grid, or more data.",
		"fix it by the setting noise-std, or try hyper=grid.":   "fix it by --noise-std, or try --hyper grid.",
		"σ₀ = 0.5 and NLL 0.2 (± 0.1): nothing is changed here": "σ₀ = 0.5 and NLL 0.2 (± 0.1): nothing is changed here",
		`column "a=b": see the setting drop (the setting rank)`: `column "a=b": see --drop (--rank)`,
		"expected the setting classes of the likelihood":        "expected --likelihood-classes",
		"points add nothing: fewer would do (inducing=4).":      "points add nothing: fewer would do (--inducing 4).",
	} {
		if got := flagged(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
