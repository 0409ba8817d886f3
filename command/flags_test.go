package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/go-valla/valla/gp/method"
)

// sample has a setting of each kind.
type sample struct {
	Count  int      `set:"count" default:"7" min:"1" help:"how many"`
	Rate   *float64 `set:"rate" auto:"found" help:"how fast"`
	Offset float64  `set:"offset" help:"from where"`
	Way    string   `set:"way" choice:"up down" help:"where to"`
	Widths []int    `set:"widths" default:"5,5" help:"of layers"`
	Names  []string `set:"names" help:"of columns"`
	Quick  bool     `set:"quick" help:"no waiting"`
}

func sampleFlags(s *sample) *pflag.FlagSet {
	f := pflag.NewFlagSet("sample", pflag.ContinueOnError)
	f.SortFlags = false
	settingsFlags(f, s, "with x: ", map[string]string{"names": "required"})
	return f
}

func TestSettingsFlags(t *testing.T) {
	var s sample
	f := sampleFlags(&s)
	want := `      --count INT        with x: how many (default 7)
      --rate NUMBER      with x: how fast (default: found)
      --offset NUMBER    with x: from where (default 0)
      --way NAME         with x: where to: up, down (default up)
      --widths INT,...   with x: of layers (default 5,5)
      --names TEXT,...   with x: of columns (required)
      --quick            with x: no waiting (default off)
`
	if got := f.FlagUsages(); got != want {
		t.Errorf("help\n%swant\n%s", got, want)
	}
	if err := f.Parse(strings.Fields("--count 3 --rate=0 --way down --widths 1,2,3 --names a,b --quick data.csv")); err != nil {
		t.Fatal(err)
	}
	if s.Count != 3 || s.Rate == nil || *s.Rate != 0 || s.Way != "down" || !slices.Equal(s.Widths, []int{1, 2, 3}) || !slices.Equal(s.Names, []string{"a", "b"}) || !s.Quick {
		t.Errorf("settings %+v", s)
	}
	if !slices.Equal(f.Args(), []string{"data.csv"}) || f.Lookup("widths").Value.String() != "1,2,3" || f.Changed("offset") {
		t.Errorf("arguments %q, widths %s", f.Args(), f.Lookup("widths").Value)
	}
	if err := f.Parse([]string{"--quick=false", "--widths", ""}); err != nil || s.Quick || s.Widths == nil || len(s.Widths) != 0 {
		t.Errorf("settings %+v, error %v", s, err)
	}
}

// A value that a setting refuses leaves it as it is.
func TestSettingsFlagsErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--count 0":      `invalid argument "0" for "--count" flag: expected an integer at least 1, found "0"`,
		"--count x":      `expected an integer at least 1, found "x"`,
		"--way left":     `expected one of up, down, found "left"`,
		"--widths 1,x":   `expected an integer, found "x"`,
		"--quick=maybe":  `expected true or false, found "maybe"`,
		"--rate NaN":     `expected a number, found "NaN"`,
		"--colour green": "unknown flag: --colour",
	} {
		var s sample
		err := sampleFlags(&s).Parse(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
		if s.Count != 0 || s.Way != "" || s.Widths != nil || s.Quick || s.Rate != nil {
			t.Errorf("%s: settings %+v", args, s)
		}
	}
}

func TestMethodIn(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "valla",
		"fit a.csv --model m":           "valla",
		"fit --method lla a.csv":        "lla",
		"fit a.csv --method=gp-subset":  "gp-subset",
		"fit --method lla --method=any": "any",
		"fit --method":                  "valla",
	} {
		if got := chosenIn(strings.Fields(args), "--method", method.Default); got != want {
			t.Errorf("%q: method %s, want %s", args, got, want)
		}
	}
}
