package data

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
)

// tableOf reads a table of text.
func tableOf(t testing.TB, text string) *Table {
	t.Helper()
	table, err := decodeText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// column returns a table with a target and the column c; the words of text are the cells of c.
func column(t testing.TB, cells ...string) *Table {
	t.Helper()
	return tableOf(t, "c,y\n"+strings.Join(cells, ",1\n")+",1\n")
}

// encoded encodes a table and compares the inputs, by hand.
func encoded(t *testing.T, table *Table, o ColumnOptions, features string, want ...float64) *Set {
	t.Helper()
	s, err := table.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Features, "|"); got != features || !slices.Equal(s.X.Float64s(), want) {
		t.Errorf("features %s: %v\nwant %s: %v", got, s.X.Float64s(), features, want)
	}
	return s
}

func TestEncodeByHand(t *testing.T) {
	days := func(d ...float64) []float64 { return d }
	none := ColumnOptions{}
	encoded(t, column(t, "1", "2.5", "-3e1"), none, "c", 1, 2.5, -30)
	encoded(t, column(t, "1", "NA", "4", "nan", "2"), none, "c|c missing", 1, 0, 2, 1, 4, 0, 2, 1, 2, 0)
	encoded(t, column(t, "Yes", "no", "YES"), none, "c", 1, 0, 1)
	encoded(t, column(t, "true", "false", "", "true"), none, "c|c missing", 1, 0, 0, 0, 1, 1, 1, 0)
	encoded(t, column(t, "1970-01-02", "1970-01-01", "1969-12-31"), none, "c", days(1, 0, -1)...)
	encoded(t, column(t, "02.01.1970", "31.12.1969"), none, "c", days(1, -1)...)
	encoded(t, column(t, "1970-01-02 06:00:00", "1970-01-01 12:00:00.5"), none, "c", 1.25, 0.5+0.5/86400)
	encoded(t, column(t, "13/01/1970", "01/02/1970"), none, "c", 12, 31)
	encoded(t, column(t, "06:00", "18:00"), none, "c", 0.25, 0.75)
	encoded(t, column(t, "06:00", "18:00:36"), none, "c", 0.25, 0.75+36./86400)
	encoded(t, column(t, "1970-01-02 06:00", "1970-01-01"), none, "c", 1.25, 0)
	encoded(t, column(t, "1970-01-02T06:00:00", "1970-01-01T12:00:00Z", "1970-01-02T01:00:00+01:00"), none, "c", 1.25, 0.5, 1)
	encoded(t, column(t, "1970-01-02", "1970-01-01 12:00:00.5", "", "1970-01-03"), none, "c|c missing", 1, 0, 0.5+0.5/86400, 0, 1, 1, 2, 0)
	encoded(t, column(t, "02.01.1970", "1970-01-01 12:00:00", "31.12.1969 06:00"), none, "c", 1, 0.5, -0.75)
	encoded(t, column(t, "13/01/1970", "1970-01-01", "01/02/1970 12:00"), none, "c", 12, 0, 31.5)
	encoded(t, column(t, "b", "a", "b", "z", "a"), none, "c=a|c=b|c other", 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0)
	encoded(t, column(t, "b", "a", "", "b", "a"), none, "c=a|c=b|c other|c missing", 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0)
	encoded(t, column(t, "7", "7", "07", "8", "8.0"), ColumnOptions{Categorical: []string{"c"}}, "c=7|c=8|c other", 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0)
	encoded(t, column(t, "7", "x", "8", "6"), ColumnOptions{Numeric: []string{"c"}}, "c|c missing", 7, 0, 7, 1, 8, 0, 6, 0)
	encoded(t, column(t, "7", "", "8"), ColumnOptions{Missing: MissingDrop}, "c", 7, 8)
	encoded(t, column(t, "7", "x", "8", ""), ColumnOptions{Numeric: []string{"c"}, Missing: MissingDrop}, "c", 7, 8)
	// The median and the categories come from the training rows.
	some := ColumnOptions{Rows: func(n int) ([]int, error) { return []int{0, 1, 2}, nil }}
	encoded(t, column(t, "1", "", "4", "100", "200"), some, "c|c missing", 1, 0, 2.5, 1, 4, 0, 100, 0, 200, 0)
	encoded(t, column(t, "p", "q", "p", "q", "q"), some, "c=p|c other", 1, 0, 0, 1, 1, 0, 0, 1, 0, 1)
}

// Many categories become codes: the most frequent category is first, and a new category gets the last code.
func TestEncodeCodes(t *testing.T) {
	var cells []string
	for i := range 25 {
		for range 25 - i {
			cells = append(cells, fmt.Sprint("T", i))
		}
	}
	s, err := column(t, cells...).Encode(ColumnOptions{})
	if err != nil || s.X.Shape()[1] != 1 || s.Encoding.Columns[0].Kind != Codes {
		t.Fatalf("set %+v, error %v", s, err)
	}
	for i, c := range cells {
		if got := fmt.Sprint("T", s.X.Float64s()[i]); got != c {
			t.Fatalf("row %d: code %s, want %s", i, got, c)
		}
	}
	x, err := s.Encoding.Apply(column(t, "T3", "new", "5"), []int{0}, nil)
	if err != nil || !slices.Equal(x.Float64s(), []float64{3, 25, 25}) {
		t.Errorf("codes %v, error %v", x, err)
	}
}

func TestEncodeLeavesOut(t *testing.T) {
	var text strings.Builder
	text.WriteString(",name,same,empty,k,a,y\n")
	for i := range 30 {
		fmt.Fprintf(&text, "%d,N%d,const,,%d,%d,%d\n", i, i, i, i%7, i%3)
	}
	s, err := tableOf(t, text.String()).Encode(ColumnOptions{ID: []string{"k"}, Drop: []string{"gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Features, []string{"a"}) || !slices.Equal(s.Encoding.Names(), []string{"a"}) || !s.Encoding.Plain() {
		t.Errorf("features %q", s.Features)
	}
	summary := strings.Join(s.Encoding.Summary(), "\n")
	for _, want := range []string{`"k" names the rows`, `"Unnamed: 0" is left out: it numbers the rows`, `"name" is left out: it has 30 different texts in 30 rows`,
		`"same" is left out: it is "const" in all rows`, `"empty" is left out: it is empty`, `"gone" is left out: as asked for`} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in\n%s", want, summary)
		}
	}
}

// Tables of numbers are encoded as they are.
func TestEncodePlain(t *testing.T) {
	table := tableOf(t, "a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
	want, err := table.Set("b")
	if err != nil {
		t.Fatal(err)
	}
	got, err := table.Encode(ColumnOptions{Targets: []string{"b"}})
	if err != nil || !got.Encoding.Plain() || len(got.Encoding.Summary()) > 0 || !slices.Equal(got.X.Float64s(), want.X.Float64s()) ||
		!slices.Equal(got.Y.Float64s(), want.Y.Float64s()) || !slices.Equal(got.Features, want.Features) {
		t.Errorf("set %+v, error %v", got, err)
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, c := range []struct {
		table *Table
		o     ColumnOptions
		say   string
	}{
		{column(t, "1", "2", "x"), ColumnOptions{}, `f.csv:4: column "c": expected a number, found "x"; see the setting categorical`},
		{column(t, "1", "2", "inf"), ColumnOptions{}, `f.csv:4: column "c": expected a finite number, found "inf"`},
		{column(t, "\"1,5\"", "\"2,5\"", "3"), ColumnOptions{}, `f.csv:2: column "c": expected a number with a decimal point such as 1.5`},
		{column(t, "\"1.234,5\"", "\"2,5\""), ColumnOptions{}, "decimal point"},
		{column(t, "\"29,255,019\"", "\"97,543\"", "12"), ColumnOptions{}, `found "29,255,019"`},
		{column(t, "\"1,785.00\"", "\"-26,120,108.5\""), ColumnOptions{}, "decimal point"},
		{column(t, "\"12,34,567\"", "\"1,23,456\""), ColumnOptions{}, "decimal point"},
		{column(t, "3 055 608", "1 082", "NA"), ColumnOptions{}, "decimal point"},
		{column(t, "3\u00a0055\u00a0608", "1\u202f082"), ColumnOptions{}, "decimal point"},
		{column(t, "\"1 082,5\"", "\"2,5\""), ColumnOptions{}, "decimal point"},
		{column(t, "573'144", "4’158.25"), ColumnOptions{}, "decimal point"},
		{column(t, "1.785.000", "2.023.000"), ColumnOptions{}, "decimal point"},
		{column(t, "1", "", "x", "y"), ColumnOptions{Missing: MissingError}, `f.csv:3: column "c": expected a value, found ""`},
		{column(t, "", ""), ColumnOptions{}, `f.csv: no column is left for a feature: "c" is left out: it is empty`},
		{column(t, "1", "2"), ColumnOptions{Missing: "mean"}, `missing values "mean"`},
		{column(t, "1", "2"), ColumnOptions{Targets: []string{"y", "y"}}, `the target "y" is named twice`},
		{column(t, "1", "2"), ColumnOptions{Numeric: []string{"d"}}, `no column "d"`},
		{column(t, "01/02/2020", "03/04/2020"), ColumnOptions{}, "may have the month first or second"},
		{column(t, "2020-01-13", "03/04/2020", "01/02/2020 12:00"), ColumnOptions{}, `dates such as "03/04/2020" may have the month first or second`},
		{column(t, "\"1,5\"", "-", "\"2,5\"", "\"3,5\""), ColumnOptions{}, `f.csv:2: column "c": expected a number with a decimal point such as 1.5, without`},
		{column(t, "$1.50", "$2", "\"$1,250.00\"", "?"), ColumnOptions{}, `found "$1.50"`},
		{column(t, "5 %", "7.5%"), ColumnOptions{}, "signs of money or per cent"},
		{column(t, "(123.45)", "1", "2"), ColumnOptions{}, "brackets"},
		{column(t, "\u22121.5", "\u22122"), ColumnOptions{}, "decimal point"},
		{column(t, "812.10", "816", "-", "\"4,816.35\""), ColumnOptions{Numeric: []string{"c"}}, `f.csv:5: column "c": expected a number, found "4,816.35"`},
		{column(t, "812.10", "816", "-", "\"4,816.35\""), ColumnOptions{Numeric: []string{"c"}, Missing: MissingDrop}, `found "4,816.35"`},
		{column(t, spread(30, "-", "x", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-")...), ColumnOptions{}, `expected a number, found "-"; see the setting categorical`},
		{column(t, "2020-01-13", "2020-01-14", "soon"), ColumnOptions{}, `f.csv:4: column "c": expected a date or time such as "2020-01-13"`},
		{column(t, "20-Jan-24", "01/13/24", "02/14/24"), ColumnOptions{}, "expected a date such as 2024-05-26"},
		{tableOf(t, "c,y\n1,\n2,3\n"), ColumnOptions{}, `f.csv:2: column "y": expected a number, found ""`},
		{tableOf(t, "c,y\n1,\"1,785\"\n2,\n3,\"2,5\"\n"), ColumnOptions{}, `f.csv:2: column "y": expected a number, found "1,785"; write the target as a number with a decimal point`},
		{tableOf(t, "c,y\n1,u\n2,\n3,v\n"), ColumnOptions{Classes: true}, `f.csv:3: column "y": expected one of the 2 classes "u", "v", found ""`},
		{tableOf(t, "c,y\n1,u\n2,None\n3,v\n"), ColumnOptions{Classes: true}, `found "None", which counts as a missing value: give the class another name`},
		{tableOf(t, "c,y\n,1\n2,\n"), ColumnOptions{Missing: MissingDrop}, "no row has all values"},
	} {
		s, err := c.table.Encode(c.o)
		if expectError(t, err, "", c.say); s != nil {
			t.Errorf("half a set comes with %v", err)
		}
	}
}

// spread returns the numbers below n as cells, and others behind them.
func spread(n int, others ...string) (cells []string) {
	for i := range n {
		cells = append(cells, fmt.Sprint(i))
	}
	return append(cells, others...)
}

// TestNarrowNumbers: a category is the same in float32 and in float64.
func TestNarrowNumbers(t *testing.T) {
	wide, narrow := 0.1, float64(float32(0.1))
	for _, of := range []float64{wide, narrow} {
		at := placesOf([]string{key(1.5), key(of)})
		for _, v := range []float64{wide, narrow} {
			if i, ok := at.number(v); !ok || i != 1 {
				t.Errorf("%v among categories with %v: place %d, %v", v, of, i, ok)
			}
			if i, ok := at.of(key(v)); !ok || i != 1 {
				t.Errorf("the text of %v among categories with %v: place %d, %v", v, of, i, ok)
			}
		}
		if i, ok := at.number(0.1000001); ok {
			t.Errorf("another number has the place %d", i)
		}
	}
}

// TestIndexes: the index of pandas is neither the target nor an input, whatever the order of its numbers, and neither is what a
// separator at the ends of lines makes.
func TestIndexes(t *testing.T) {
	for text, target := range map[string]string{
		"a,y,__index_level_0__\n1,2,7\n2,3,5\n": "y",
		",a,y\n7,1,2\n3,1.5,4\n12,2,4\n":        "y",
		"a,y,\n1,2,\n3,4,\n":                    "y",
		"y,__index__\n1,2\n3,5\n":               "__index__",
		"Unnamed: 0,a,y\n7,1,2\n7,1.5,4\n7,2,4": "y",
	} {
		s, err := tableOf(t, text).Encode(ColumnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if strings.HasPrefix(text, "Unnamed") { // the same number is there twice
			want = 2
		}
		if !slices.Equal(s.Targets, []string{target}) || len(s.Features) != want {
			t.Errorf("%q: target %q, features %q", text, s.Targets, s.Features)
		}
	}
}

// Texts that only look like numbers with separators are categories.
func TestNotSeparated(t *testing.T) {
	for _, text := range []string{"1,2,3,4x", "044 123 456", "1 2", "1,000,00,", "12 345 67", "1'2", "10.20.30", "1 000'000", ",", "a,b", " ", "1,,000", "0'123"} {
		if separated(text) {
			t.Errorf("%q counts as a number with separators", text)
		}
	}
}

// A column of dates in several forms shows them in the one that says most.
func TestLayoutOf(t *testing.T) {
	for layout, words := range map[string][]string{
		"2006-1-2":                {"2021-05-26", "2021-5-6"},
		"2006-1-2 15:04":          {"2021-05-26", "2021-05-26 22:46"},
		"2006-1-2T15:04:05Z07:00": {"2021-05-26T22:46:00", "2021-05-26", "2021-05-26T22:46:00Z"},
		"2.1.2006":                {"26.05.2021", "2021-05-26 22:46:00"},
		"2.1.2006 15:04":          {"2021-05-26 22:46:00", "26.05.2021 10:00", "26.05.2021"},
		"15:04:05":                {"10:00", "10:00:01"},
		"1/2/2006 3:04 PM":        {"1/13/2024 1:30 PM", "2/1/2024 11:05 AM", "2/1/2024"},
		"2006-1-2 15:04:05 UTC":   {"2024-01-01 10:00:00 UTC", "2024-01-01"},
		"2006-1-2T15:04:05Z0700":  {"2024-01-01T10:00:00+0000", "2024-01-01T10:00:00+0130"},
		"2006-1-2T15:04Z07:00":    {"2024-01-01T10:00Z"},
		"2 January 2006":          {"1 January 2024", "12 May 2023"},
		"2006-1":                  {"2024-01", "2023-12"},
		"":                        {"10:00", "2021-05-26"},
	} {
		got, err := layoutOf(words)
		if err != nil || got != layout {
			t.Errorf("%q: layout %q, error %v, want %q", words, got, err, layout)
		}
		for _, w := range words {
			if _, ok := dateIn(layout, w); !ok && layout != "" {
				t.Errorf("%q is no date in a column of %q", w, layout)
			}
		}
	}
	if got, err := layoutOf([]string{"26.05.2021", "5/26/2021"}); err != nil || got != "" {
		t.Errorf("dates of two countries: layout %q, error %v", got, err)
	}
}

func TestEncodeLabels(t *testing.T) {
	table := tableOf(t, "c,y\n1,pear\n2,apple\n3,7\n4,pear\n")
	s, err := table.Encode(ColumnOptions{Classes: true})
	if err != nil || !slices.Equal(s.Labels, []string{"7", "apple", "pear"}) || !slices.Equal(s.Y.Float64s(), []float64{2, 1, 0, 2}) {
		t.Errorf("set %+v, error %v", s, err)
	}
	if again := s.Rows([]int{1}); !slices.Equal(again.Labels, s.Labels) || again.Encoding != s.Encoding || again.Y.Float64s()[0] != 1 {
		t.Errorf("rows %+v", again)
	}
}

// Programs write the truth as true, True or TRUE: it is one category and one class, unless the training rows tell them apart.
func TestTruthInAnyCase(t *testing.T) {
	table := column(t, "True", "False", "maybe", "TRUE", "false", "maybe")
	s, err := table.Encode(ColumnOptions{})
	if err != nil || !slices.Equal(s.Encoding.Columns[0].Values, []string{"False", "True", "maybe"}) {
		t.Fatalf("set %+v, error %v", s, err)
	}
	x, err := s.Encoding.Apply(column(t, "true", "FALSE", "Maybe"), []int{0}, nil)
	if err != nil || !slices.Equal(x.Float64s(), []float64{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}) {
		t.Errorf("inputs %v, error %v", x, err)
	}
	codes := ColumnCode{Name: "c", Kind: Codes, Values: []string{"x", "True", "true", "FALSE"}}
	e := &Encoding{Columns: []ColumnCode{codes}, Missing: MissingMedian}
	x, err = e.Apply(column(t, "true", "True", "TRUE", "false", "X"), []int{0}, nil)
	if err != nil || !slices.Equal(x.Float64s(), []float64{2, 1, 2, 3, 4}) {
		t.Errorf("codes %v, error %v", x, err)
	}
	y, err := tableOf(t, "c,y\n1,true\n2,FALSE\n").Labels(1, []string{"False", "True"})
	if err != nil || !slices.Equal(y.Float64s(), []float64{1, 0}) {
		t.Errorf("classes %v, error %v", y, err)
	}
	s, err = tableOf(t, "c,y\n1,True\n2,False\n3,true\n4,false\n").Encode(ColumnOptions{Classes: true})
	if err != nil || !slices.Equal(s.Labels, []string{"False", "True"}) || !slices.Equal(s.Y.Float64s(), []float64{1, 0, 1, 0}) {
		t.Errorf("set %+v, error %v", s, err)
	}
	_, err = tableOf(t, "c,y\n1,yes\n").Labels(1, []string{"False", "True"})
	expectError(t, err, "f.csv:2: ", `found "yes"`)
}

// Large numbers among texts are named by their digits, and files of models that name them by exponents are read as before.
func TestLargeNumbersAsNames(t *testing.T) {
	text := "c,y\n1000000,x\n12345678,1000000\n1e6,12345678\nu,x\nu,1e+06\n12345678,x\n"
	s, err := tableOf(t, text).Encode(ColumnOptions{Classes: true, Categorical: []string{"c"}})
	if err != nil || !slices.Equal(s.Labels, []string{"1000000", "12345678", "x"}) || !slices.Equal(s.Y.Float64s(), []float64{2, 0, 1, 2, 0, 2}) {
		t.Errorf("set %+v, error %v", s, err)
	}
	if got := strings.Join(s.Features, "|"); got != "c=1000000|c=12345678|c=u|c other" {
		t.Errorf("features %s", got)
	}
	before := ColumnCode{Name: "c", Kind: Codes, Values: []string{"u", "1e+06", "1.2345678e+07"}}
	e := &Encoding{Columns: []ColumnCode{before}, Missing: MissingMedian}
	x, err := e.Apply(tableOf(t, text), []int{0}, nil)
	if err != nil || !slices.Equal(x.Float64s(), []float64{1, 2, 1, 0, 0, 2}) {
		t.Errorf("codes %v, error %v", x, err)
	}
	y, err := tableOf(t, text).Labels(1, []string{"1.2345678e+07", "1e+06", "x"})
	if err != nil || !slices.Equal(y.Float64s(), []float64{2, 1, 0, 2, 1, 2}) {
		t.Errorf("classes %v, error %v", y, err)
	}
}

// applySlowly is Apply for one cell, by the definition of each kind.
func applySlowly(c ColumnCode, text string) []float64 {
	v, number := parse([]byte(text))
	out := []float64{0}
	if c.Kind == Categories {
		out = make([]float64, len(c.Values)+1)
	}
	missing := missing(text)
	switch {
	case missing && c.Kind == Categories && !c.Gaps:
		out[len(c.Values)] = 1
	case missing && c.Kind != Categories:
		out[0] = c.Median
	case missing:
	case c.Kind == Number:
		out[0] = v
	case c.Kind == Boolean:
		out[0] = float64(slices.Index(c.Values, strings.ToLower(text)))
	case c.Kind == Date:
		out[0], _ = dateIn(c.Layout, text)
	default:
		if number {
			text = key(v)
		}
		at := slices.Index(c.Values, text)
		if at < 0 {
			at = len(c.Values)
		}
		if c.Kind == Codes {
			out[0] = float64(at)
		} else {
			out[at] = 1
		}
	}
	if c.Gaps {
		out = append(out, map[bool]float64{true: 1}[missing])
	}
	return out
}

// Inputs agree with the definition, also for batches and after the encoding was written and read.
func TestApplyIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	kinds := []func() string{
		func() string { return fmt.Sprint(rng.IntN(9)) }, func() string { return []string{"yes", "no"}[rng.IntN(2)] },
		func() string { return fmt.Sprintf("2024-0%d-1%d", 1+rng.IntN(9), rng.IntN(9)) },
		func() string { return string(rune('a' + rng.IntN(5))) }, func() string { return fmt.Sprint("t", rng.IntN(30)) },
	}
	var text strings.Builder
	text.WriteString("n,b,d,s,m,y\n")
	var cells [][]string
	for range 300 {
		var row []string
		for j, f := range kinds {
			if row = append(row, f()); rng.IntN(7) == 0 && j != 1 {
				row[j] = []string{"", "NA", "null"}[rng.IntN(3)]
			}
		}
		cells = append(cells, row)
		text.WriteString(strings.Join(row, ",") + ",1\n")
	}
	table := tableOf(t, text.String())
	s, err := table.Encode(ColumnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(s.Encoding)
	if err != nil {
		t.Fatal(err)
	}
	var e Encoding
	if err := json.Unmarshal(file, &e); err != nil || !reflect.DeepEqual(&e, s.Encoding) || e.Check() != nil {
		t.Fatalf("encoding %+v, want %+v, error %v", e, s.Encoding, err)
	}
	if got := []Kind{e.Columns[0].Kind, e.Columns[1].Kind, e.Columns[2].Kind, e.Columns[3].Kind, e.Columns[4].Kind}; !slices.Equal(got, []Kind{Number, Boolean, Date, Categories, Codes}) {
		t.Fatalf("kinds %v", got)
	}
	var want []float64
	for _, row := range cells {
		for j, cell := range row {
			want = append(want, applySlowly(e.Columns[j], cell)...)
		}
	}
	if !slices.Equal(s.X.Float64s(), want) {
		t.Error("other inputs than by the definition")
	}
	x, err := e.Apply(table.take([]int{299, 5}), []int{0, 1, 2, 3, 4}, nil)
	d := len(e.Features())
	if err != nil || !slices.Equal(x.Float64s(), append(slices.Clone(want[299*d:]), want[5*d:6*d]...)) {
		t.Errorf("other inputs of some of the rows, error %v", err)
	}
	for i, row := range cells {
		got := e.Cells(want[i*d : (i+1)*d])
		for j, cell := range row {
			if v := e.Columns[j].Values; missing(cell) {
				cell = "missing"
			} else if v != nil && !slices.Contains(v, cell) {
				cell = "other"
			}
			if got[j] != cell {
				t.Fatalf("row %d, column %d is back as %q, expected %q", i, j, got[j], cell)
			}
			if c := e.Columns[j]; c.Kind == Date && cell != "missing" && e.Text(c.Name, want[i*d+slices.Index(e.Features(), c.Name)]) != cell {
				t.Fatalf("row %d, column %d: another date than %q", i, j, cell)
			}
		}
	}
}

func TestEncodingCheck(t *testing.T) {
	good := ColumnCode{Name: "a", Kind: Number}
	for say, e := range map[string]Encoding{
		"missing values":                {Columns: []ColumnCode{good}},
		"two columns":                   {Missing: MissingError, Columns: []ColumnCode{good, good}},
		`kind "text"`:                   {Missing: MissingError, Columns: []ColumnCode{{Name: "a", Kind: "text"}}},
		"median +Inf":                   {Missing: MissingError, Columns: []ColumnCode{{Name: "a", Kind: Number, Median: math.Inf(1)}}},
		"1 words, expected 2":           {Missing: MissingError, Columns: []ColumnCode{{Name: "a", Kind: Boolean, Values: []string{"x"}}}},
		`layout "x" of dates`:           {Missing: MissingError, Columns: []ColumnCode{{Name: "a", Kind: Date, Layout: "x"}}},
		`two columns are called "twice`: {Missing: MissingError, Columns: []ColumnCode{{Name: "a", Kind: Codes, Values: []string{"twice", "twice"}}}},
	} {
		expectError(t, e.Check(), "encoding: ", say)
	}
}

// FuzzEncode: whatever text a table holds, its inputs are finite, or there is one error.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{
		"a,b\n1,2\nNA,3\n", "a;b\n1,5;2\n", "a,b\nx,2\ny,3\nx,4\n", "d,y\n2020-01-01,1\n,2\n", "b,y\nyes,1\nno,0\n", ",0,1\n0,1,2\n",
		"a,b\n9007199254740993,1e308\n-1e308,2\n", "t,y\n1/2/2006,a\n2/1/2006,b\n", "a\tb\nnull\t?\n", "a|b\n1|\"x\n\"\n",
	} {
		f.Add([]byte(s), false, "median")
		f.Add([]byte(s), true, "drop")
	}
	f.Fuzz(func(t *testing.T, in []byte, classes bool, missing string) {
		table, err := decodeText(in)
		if err != nil {
			return
		}
		s, err := table.Encode(ColumnOptions{Classes: classes, Missing: missing})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		if err := s.Encoding.Check(); err != nil {
			t.Fatalf("encoding %+v: %v", s.Encoding, err)
		}
		bad := func(v float64) bool { return !kernel.Finite(v) }
		if d := len(s.Features); s.X.Shape()[1] != d || slices.ContainsFunc(s.X.Float64s(), bad) || slices.ContainsFunc(s.Y.Float64s(), bad) {
			t.Fatalf("inputs %v, targets %v", s.X, s.Y)
		}
	})
}

// FuzzPacked reads tables that may be packed.
func FuzzPacked(f *testing.F) {
	plain := "a,b\n1,2\n3,x\n"
	f.Add([]byte(plain))
	f.Add(zstandard(f, plain))
	f.Add([]byte("\x1f\x8b\b\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := TableReader{}.openText("f.csv", strings.NewReader(string(in)), nopCloser{}, 0)
		if err != nil {
			return
		}
		table, err := s.Next(1000) // a few bytes can hold very many rows
		if err == nil && (table.N() > 1000 || len(table.Columns) != len(s.Columns)) {
			t.Fatalf("%d rows of %d columns", table.N(), len(table.Columns))
		}
		s.Close()
	})
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// FuzzParquet reads damaged Parquet files.
func FuzzParquet(f *testing.F) {
	type row struct {
		A int64
		B *string `parquet:",optional"`
		C bool
		D float32 `parquet:",dict"`
	}
	good := parquetOf(f, []row{{1, new("x"), true, 2}, {2, nil, false, 3}, {3, new("y"), true, 4}, {4, nil, true, 5}})
	f.Add(good)
	for i := 0; i < len(good); i += 61 {
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		f.Add(bad)
	}
	lists := parquetOf(f, raggedRows())
	for i := 4; i < len(lists); i += 61 {
		bad := slices.Clone(lists)
		bad[i] ^= 0xff
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, paddings := range [][]Padding{nil, {{Length: 4}}} {
			s, err := openSection("f.parquet", in, paddings...)
			if err != nil {
				expectError(t, err, "f.parquet", "")
				return
			}
			table, err := s.Next(1000)
			if err == nil && (table.N() > 1000 || len(table.Columns) != len(s.Columns)) {
				t.Fatalf("%d rows of %d columns", table.N(), len(table.Columns))
			}
		}
	})
}
