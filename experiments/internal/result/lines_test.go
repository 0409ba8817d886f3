package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// settings returns what a run writes of its settings.
func settings(t testing.TB, data string, samples int, method string, own any, seed int) json.RawMessage {
	t.Helper()
	text, err := json.Marshal([]any{2, data, "sum", seed, map[string]any{"form": "mlp"}, map[string]any{"iterations": 5},
		map[string]any{"monte-carlo": samples}, method, own, "", seed})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Published lines hold the cells with six digits of each number, whatever the number is.
func TestLines(t *testing.T) {
	cells := []*Cell{
		{Experiment: "e", Profile: "full", ID: id("A", 0), Scores: map[string]Scores{"": {"NLL": 1.23456789, "CQM": Number(math.Inf(1))}}, N: 1234567},
		{Experiment: "e", Profile: "full", ID: id("B", 1), Settings: json.RawMessage(`[2,"a"]`), Curves: Curves{Coverage: []float64{0.123456789e-9}}},
		{Experiment: "e", Profile: "quick", ID: id("B", 1), Fit: Cost{Peak: 1 << 40}},
	}
	var text bytes.Buffer
	if err := WriteLines(&text, cells); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n != 3 || strings.Contains(text.String(), "34567e") {
		t.Errorf("%d lines: %s", n, &text)
	}
	got, err := ReadLines("file", &text)
	if err != nil {
		t.Fatal(err)
	}
	cells[0].Scores[""]["NLL"], cells[1].Curves.Coverage[0] = 1.23457, 0.123457e-9
	if !reflect.DeepEqual(got, cells) {
		t.Errorf("read %+v", got)
	}
	all := Group(got)
	if len(all) != 2 || len(all[0].Cells) != 2 || all[1].Profile != "quick" || all[1].Done[0] != got[2] || len(all[0].Data) != 1 {
		t.Errorf("groups %+v", all)
	}
}

// The commands of published cells name the networks of an experiment with several.
func TestCommands(t *testing.T) {
	of := func(data string) *Cell {
		return &Cell{Experiment: "cifar10", Profile: "cheap", ID: ID{Data: data, Row: "A"}}
	}
	all := Group([]*Cell{of("cifar10-resnet20"), of("cifar10-resnet20"), of("cifar10-resnet56"), of("cifar10")})
	run := "valla experiment run cifar10 --profile cheap"
	if len(all) != 1 || !slices.Equal(all[0].Commands, []string{run + " --net resnet20", run + " --net resnet56", run}) {
		t.Errorf("groups %+v", all)
	}
}

func TestLinesDamaged(t *testing.T) {
	good := `{"experiment":"e","data":"d","row":"A"}` + "\n"
	for _, bad := range []string{"{", "\n", `{"more":1}`, `{"experiment":"e"}`, "{}{}"} {
		_, err := ReadLines("file", strings.NewReader(good+bad+"\n"))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "file:2: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	texts(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		cells, err := ReadLines("file", bytes.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !errors.Is(err, ErrDamaged) {
				t.Errorf("error %q", err)
			}
			return
		}
		var once, twice bytes.Buffer
		if err := WriteLines(&once, cells); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLines("file", bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteLines(&twice, again); err != nil || once.String() != twice.String() {
			t.Errorf("%s became %s (%v)", &once, &twice, err)
		}
	})
}

// A row is known by its method and all settings: not by its name, the data set, the seed or
// what was scored.
func TestKey(t *testing.T) {
	own := func(m int) map[string]any { return map[string]any{"inducing": m} }
	a := &Cell{ID: id("A", 0), Settings: settings(t, "d", 0, "valla", own(5), 0)}
	for i, c := range []struct {
		cell *Cell
		same bool
	}{
		{&Cell{ID: id("B", 1), Settings: settings(t, "d2", 2048, "valla", own(5), 1)}, true},
		{&Cell{ID: id("A", 0), Settings: settings(t, "d", 0, "valla", own(6), 0)}, false},
		{&Cell{ID: id("A", 0), Settings: settings(t, "d", 0, "fmgp", own(5), 0)}, false},
		{&Cell{ID: id("A", 0), Settings: settings(t, "d", 0, "map", nil, 0)}, false},
		{&Cell{ID: id("A", 0)}, false},
	} {
		if got := c.cell.Key() == a.Key(); got != c.same {
			t.Errorf("case %d: the same row: %v", i, got)
		}
	}
	if s, ok := a.Setup(); !ok || s.Method != "valla" || s.Settings["inducing"] != 5.0 || !strings.Contains(string(s.Network), "iterations") {
		t.Errorf("setup %+v", s)
	}
	for _, bad := range []string{"", "3", "[1]", `[1,2,3,4,5,6,7,8,9,10]`} {
		if _, ok := (&Cell{Settings: json.RawMessage(bad)}).Setup(); ok {
			t.Errorf("settings %q are a setup", bad)
		}
	}
}

// A published row has the key of the run that it comes from, although its numbers are rounded.
func TestKeyOfPublished(t *testing.T) {
	c := &Cell{Experiment: "e", ID: id("A", 0), Settings: settings(t, "d", 0, "valla", map[string]any{"noise-std": 0.0820849986238988}, 0)}
	var text bytes.Buffer
	if err := WriteLines(&text, []*Cell{c}); err != nil {
		t.Fatal(err)
	}
	published, err := ReadLines("file", &text)
	if err != nil || len(published) != 1 || published[0].Key() != c.Key() {
		t.Errorf("published %v with another key, error %v", published, err)
	}
}
