package bench

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// example is a report with everything that a table can hold.
func example() report {
	d := 2e-9
	return report{
		session:  session{Load: [2]string{"0.1 0.2 0.3", "1 2 3"}},
		Versions: map[string]string{"python": "3.11", "torch": "1.13", "numpy": "1.24"},
		Rows: []row{
			{"step", dense, "float64", 1. / 3, &timing{0.0125, 0.01, 30, "2 threads", 0}, &timing{0.02, 0.02, 30, "1 thread", 0}, &timing{0.05, 0.04, 30, "OpenBLAS 2, torch 1", 0}, &d, "", result.Operations{}, 0.005},
			{"step", dense, "float32", 1. / 3, &timing{0.009, 0.009, 30, "2 threads", 0}, &timing{0.008, 0.008, 30, "1 thread", 0}, &timing{0.016, 0.016, 30, "OpenBLAS 1, torch 1", 0}, nil, "", result.Operations{}, 0.005},
			{"big", backpack, "float32", 1. / 5, &timing{2.5, 2.4, 3, "2 threads", 0}, nil, nil, nil, "no backpack", result.Operations{}, 0},
			{"huge", backpack, "float32", 1. / 5, &timing{25, 24, 3, "2 threads", 0}, nil, nil, nil, "no backpack", result.Operations{}, 0},
		},
	}
}

func TestText(t *testing.T) {
	text := example().text(false)
	for _, want := range []string{
		"│ step │ float64 │ 12.5 │     20.0 │   50.0 │ OpenBLAS 2, torch 1 │ 0.250 │      0.250 │ ≤ 0.333 │    30 │     2e-09 │ 5.00 │ × 4.00 │",
		"│ step │ float32 │ 9.00 │     8.00 │   16.0 │ OpenBLAS 1, torch 1 │ 0.500 │      0.500 │ ≤ 0.333 │    30 │           │ 5.00 │ × 1.60 │",
		"│ huge │ float32 │ 25000 │",
		"Without theirs, no backpack: big; huge",
		"torch 1.13", "load 0.1 0.2 0.3 before, 1 2 3 after",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	want := `| | float64: here | authors' | ratio | float32: here | authors' | ratio |
|---|--:|--:|--:|--:|--:|--:|
| step | 12.5 | 50.0 | 0.250 | 8.00 | 16.0 | 0.500 |
| big | | | | 2500 |  |  |
| huge | | | | 25000 |  |  |

Without theirs, no backpack: big; huge
`
	if got := example().text(true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	alone := report{Note: "no Python", Rows: example().Rows[:1]}
	if got := alone.text(true); !strings.HasSuffix(got, "|\n\nOnly ours: no Python.\n") {
		t.Errorf("without the other side:\n%s", got)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{12345: "12345", 123.4: "123", 99.94: "99.9", 1.234: "1.23", 0.1234: "0.123"} {
		if got := digits(v); got != want {
			t.Errorf("%v is %q, expected %q", v, got, want)
		}
	}
}
