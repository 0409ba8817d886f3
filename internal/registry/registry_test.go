package registry

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestTable: a table is a list of pairs with different names, whatever is added to it.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, names, values := New[int]("thing"), []string{}, map[string]int{}
		for i, name := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "b2", "c-d", "c+d", "0", "e-f-g"})).Draw(t, "names") {
			_, taken := values[name]
			if err := table.Add(name, i); (err != nil) != taken {
				t.Fatalf("%q, which is taken: %t, error %v", name, taken, err)
			}
			if !taken {
				names, values[name] = append(names, name), i
			}
		}
		if !slices.Equal(table.Names(), names) || len(table.All()) != len(names) {
			t.Fatalf("names %q of %v, want %q", table.Names(), table.All(), names)
		}
		for i, name := range names {
			if v, ok := table.Get(name); !ok || v != values[name] || table.All()[i] != v {
				t.Fatalf("%q is %d, want %d", name, v, values[name])
			}
		}
	})
}

func TestRefusedNames(t *testing.T) {
	table := New[int]("thing")
	if err := table.Add("taken", 1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": `the name "" of a thing, expected lower-case`, "Upper": "expected lower-case", "a b": "expected", "-a": "expected", "a--b": "expected", "+a": "expected",
		"a_b": "expected", "ä": "expected", "a\n": "expected", "taken": `the name "taken" of a thing is taken`,
	} {
		if err := table.Add(name, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
	if v, ok := table.Get("nobody"); ok || v != 0 || len(table.All()) != 1 {
		t.Errorf("%d of a name that nobody has, %d entries", v, len(table.All()))
	}
	table.All()[0], table.Names()[0] = 9, "spoiled"
	if v, _ := table.Get("taken"); v != 1 || table.Names()[0] != "taken" {
		t.Error("a caller can change the table")
	}
}

// TestThreads: of many goroutines that add the same name one succeeds.
func TestThreads(t *testing.T) {
	table, group, added := New[int]("thing"), sync.WaitGroup{}, make(chan int, 8)
	for i := range 8 {
		group.Go(func() {
			if table.Add("same", i) == nil {
				added <- i
			}
			table.All()
		})
	}
	group.Wait()
	if v, _ := table.Get("same"); len(added) != 1 || v != <-added {
		t.Errorf("%d goroutines have added the name", len(added))
	}
}
