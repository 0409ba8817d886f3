package settings

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	methods := []string{"valla", "lla", "gp-subset", "ella", "mfvi"}
	for given, want := range map[string]string{
		"vala": "valla", "VaLLA": "valla", "gp_subset": "gp-subset", "mvfi": "mfvi", "la": "lla", "kfac": "", "": "", "x": "", "subset": "gp-subset",
	} {
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := Nearest(given, methods); got != want {
			t.Errorf("%q: %q, expected %q", given, got, want)
		}
	}
}

// TestDistance: the distance is symmetric, 0 for equal words alone, at most the length, and 1 for a single change.
func TestDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abπ")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len([]rune(a)), len([]rune(b))) || d < abs(len([]rune(a))-len([]rune(b))) {
			t.Errorf("%q and %q: %d", a, b, d)
		}
		at := rapid.IntRange(0, len([]rune(a))).Draw(t, "at")
		if more := string([]rune(a)[:at]) + "c" + string([]rune(a)[at:]); distance(a, more) != 1 {
			t.Errorf("%q and %q: %d", a, more, distance(a, more))
		}
	})
	if distance("abcd", "abdc") != 1 || distance("kitten", "sitting") != 3 {
		t.Errorf("%d, %d", distance("abcd", "abdc"), distance("kitten", "sitting"))
	}
}

func abs(v int) int { return max(v, -v) }
