package result

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Groups hold all elements, each group those of one key in their order, and the first elements of the
// groups are in the order of the list.
func TestGrouped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 99), 0, 30).Draw(t, "numbers")
		key := func(n int) int { return n % 7 }
		groups, first := Grouped(list, key), -1
		seen := map[int]bool{}
		for _, g := range groups {
			want := slices.DeleteFunc(slices.Clone(list), func(n int) bool { return key(n) != key(g[0]) })
			if !slices.Equal(g, want) || seen[key(g[0])] {
				t.Fatalf("group %v of %v, expected %v", g, list, want)
			}
			seen[key(g[0])] = true
			at := slices.IndexFunc(list, func(n int) bool { return key(n) == key(g[0]) })
			if at < first {
				t.Fatalf("group %v of %v comes too late", g, list)
			}
			first = at
		}
		if n := len(slices.Concat(groups...)); n != len(list) {
			t.Fatalf("%d elements of %d", n, len(list))
		}
	})
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 cells", 1: "1 cell", 2: "2 cells"} {
		if got := Plural(n, "cell"); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}

// Absent files are no error of a removal, and a folder that is not empty is one.
func TestRemove(t *testing.T) {
	f, err := Open(t.TempDir(), "e", "p")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(f.Work("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Remove(f.Work("none"), f.Work("a")); err != nil {
		t.Error(err)
	}
	if err := Remove(f.Work("a"), string(f)); err == nil {
		t.Error("a folder with files was removed")
	}
}
