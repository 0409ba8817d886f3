package command_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
)

// peopleTable is a table in a form in which people have them.
type peopleTable struct {
	file    string // "-" for the standard input
	content []byte
	train   []string // flags of train
	read    []string // flags of fit, predict and eval
	columns []string // what train says of columns
	out     string   // the columns of predictions
	dropped int      // rows without a value, which are left out of all but predictions
}

const peopleRows = 120

var numberColumns = "mean,std,lower,upper,epistemic,aleatoric"

// lines joins a header and the rows that f makes.
func lines(n int, header string, f func(i int) string) []byte {
	var b strings.Builder
	if header != "" {
		b.WriteString(header + "\n")
	}
	for i := range n {
		b.WriteString(f(i) + "\n")
	}
	return []byte(b.String())
}

func pick[T any](i int, of ...T) T { return of[i%len(of)] }

// flower is the petal's length and width, and the species, of flower i.
func flower(i int) (length, width float64, species string) {
	k := i % 3
	return 1.5 + 2.2*float64(k) + 0.3*math.Sin(float64(7*i)), 0.3 + 0.8*float64(k) + 0.1*math.Cos(float64(5*i)), pick(k, "setosa", "versicolor", "virginica")
}

func peopleTables(t *testing.T) map[string]peopleTable {
	rng := rand.New(rand.NewPCG(5, 0))
	x := make([]float64, 2*peopleRows)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	plain := lines(peopleRows, "a,b,y", func(i int) string { return fmt.Sprintf("%g,%g,%g", x[i], x[2*i+1], x[i]-2*x[2*i+1]) })
	day := func(i int) time.Time { return time.Date(2023, 11, 3, 6*i, 30, 0, 0, time.UTC) }
	return map[string]peopleTable{
		"flowers with names": {file: "iris.csv", content: lines(peopleRows, "length,width,species", func(i int) string {
			l, w, s := flower(i)
			return fmt.Sprintf("%g,%g,%s", l, w, s)
		}), train: []string{"--classes"}, out: "class,p_setosa,p_versicolor,p_virginica"},
		"passengers with blanks": {file: "titanic.csv", content: lines(peopleRows, "PassengerId,Survived,Name,Sex,Age,Fare,Cabin,Embarked", func(i int) string {
			return fmt.Sprintf("%d,%d,\"Doe, Mr%s. J. (\"\"%d\"\")\",%s,%s,%g,%s,%s", i+1, pick(i, 0, 1, 1), pick(i, "s", ""), i, pick(i, "male", "female", "female"),
				pick(i, "22", "", "38", "26.5"), 7+math.Abs(30*x[i]), pick(i, "", "C85", "", "", "E46"), pick(i, "S", "C", "Q", "S", ""))
		}), train: []string{"--target", "Survived", "--classes", "--id", "PassengerId"}, out: "PassengerId,class,p_0,p_1", columns: []string{
			`"PassengerId" names the rows`, `"Name" is left out: it has 120 different texts in 120 rows`, `"Sex" has 2 categories`,
			`"Age" holds numbers; missing values become the median 26.5`, `"Cabin" has 2 categories, an input each and one for others; missing`, `"Embarked" has 3 categories`}},
		"dates": {file: "days.csv", content: lines(peopleRows, "when,at,temperature", func(i int) string {
			return fmt.Sprintf("%s,%s,%g", day(i).Format("2006-01-02"), day(i).Format("15:04"), 10+5*math.Sin(float64(i)/20)+x[i])
		}), columns: []string{`"when" holds dates or times`, `"at" holds dates or times written as 15:04, counted in days`}, out: numberColumns},
		"semicolons, quotes and CRLF": {file: "semi.csv", out: numberColumns,
			content: []byte("\ufeff\"a\";\"b\";\"y\"" + strings.ReplaceAll(strings.ReplaceAll(string(plain[5:]), ",", ";"), "\n", "\r\n"))},
		"tabs and NA": {file: "tabs.tsv", out: numberColumns, content: lines(peopleRows, "a\tb\ty", func(i int) string {
			return fmt.Sprintf("%s\t%g\t%g", pick(i, "NA", fmt.Sprint(x[i]), "nan", fmt.Sprint(x[i])), x[2*i+1], x[i])
		}), columns: []string{`"a" holds numbers; missing values become the median`}},
		"bars without a header": {file: "bars.txt", out: numberColumns, train: []string{"--drop", "x1"}, columns: []string{`"x0" has 2 categories`},
			read: []string{"--header", "no"}, content: lines(peopleRows, "", func(i int) string { return fmt.Sprintf("%s|%g|%g|%g", pick(i, "p", "q"), x[i], x[2*i+1], x[i]) })},
		"index of pandas": {file: "frame.csv", out: numberColumns, columns: []string{`"Unnamed: 0" is left out: it numbers the rows`},
			content: lines(peopleRows, ",a,b,y", func(i int) string { return fmt.Sprintf("%d,%g,%g,%g", i, x[i], x[2*i+1], x[i]) })},
		"booleans": {file: "bool.csv", out: numberColumns, columns: []string{`"old" is 0 for no and 1 for yes`, `"new" is 0 for false and 1 for true; missing`},
			content: lines(peopleRows, "old,new,y", func(i int) string {
				return fmt.Sprintf("%s,%s,%g", pick(i, "yes", "no"), pick(i, "True", "False", "null"), x[i]+float64(i%2))
			})},
		"gzip":      {file: "plain.csv.gz", content: fixture.Gzip(t, plain), out: numberColumns},
		"zstandard": {file: "plain.csv.zst", content: zstandard(t, plain), out: numberColumns},
		"parquet": {file: "typed.parquet", content: typedParquet(t, x, day), train: []string{"--drop", "list"}, out: numberColumns, columns: []string{
			`"ok" is 0 for false and 1 for true`, `"day" holds dates`, `"town" has 3 categories`, `"part" holds numbers; missing values`}},
		"standard input": {file: "-", content: plain, out: numberColumns},
		"2,000 columns": {file: "wide.csv", out: numberColumns, content: lines(peopleRows, "y,"+strings.Join(wideNames(2000), ","), func(i int) string {
			return fmt.Sprint(x[i]) + strings.Repeat(fmt.Sprintf(",%d", i%7), 2000)
		}), train: []string{"--target", "y"}},
		"many categories, rows dropped": {file: "towns.csv", out: numberColumns, train: []string{"--missing", "drop"}, dropped: 10,
			columns: []string{`"town" has 39 categories, numbered by falling frequency`, "10 rows without a value are left out"},
			content: lines(peopleRows, "town,a,y", func(i int) string { return fmt.Sprintf("T%d,%s,%g", i*i%79, number(i%12 > 0, x[i]), x[i]) })},
		"a header of numbers": {file: "years.csv", train: []string{"--header", "yes"}, out: numberColumns,
			content: lines(peopleRows, "2019,2020,2021", func(i int) string { return fmt.Sprintf("%g,%g,%g", x[i], x[2*i+1], x[i]) })},
	}
}

func number(there bool, v float64) string {
	if there {
		return fmt.Sprint(v)
	}
	return ""
}

func wideNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	return names
}

func zstandard(t *testing.T, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

func typedParquet(t *testing.T, x []float64, day func(int) time.Time) []byte {
	t.Helper()
	type row struct {
		OK   bool      `parquet:"ok"`
		Day  time.Time `parquet:"day,timestamp(microsecond)"`
		Town string    `parquet:"town,dict"`
		Part *float64  `parquet:"part,optional"`
		N    int32     `parquet:"n"`
		List []int64   `parquet:"list"`
		Y    float32   `parquet:"y"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for i := range peopleRows {
		r := row{OK: i%2 > 0, Day: day(i), Town: pick(i, "Bonn", "Köln", "Ulm"), N: int32(i % 11), Y: float32(x[i])}
		if i%5 > 0 {
			r.Part = &x[i]
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// runIn is run with content on the standard input.
func runIn(t *testing.T, dir string, content []byte, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	cmd := program(args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(content), &out, &errs
	err := cmd.Run()
	return out.String(), besideVerdict(progressLines.ReplaceAllString(errs.String(), "")), err == nil
}

// Tables as people have them go the whole way.
func TestPeopleTables(t *testing.T) {
	t.Parallel()
	for name, c := range peopleTables(t) {
		t.Run(name, func(t *testing.T) { c.goes(t) })
	}
}

func (c peopleTable) goes(t *testing.T) {
	dir := t.TempDir()
	if c.file != "-" {
		if err := os.WriteFile(filepath.Join(dir, c.file), c.content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must := func(args ...string) string {
		t.Helper()
		out, errs, ok := runIn(t, dir, c.content, args...)
		if !ok || errs != "" && c.dropped == 0 {
			t.Fatalf("valla %s: %s", strings.Join(args, " "), errs)
		}
		return out
	}
	report := must(slices.Concat([]string{"train", c.file, "--out", "map.valla", "--hidden", "5", "--iterations", "30"}, c.train, c.read)...)
	for _, want := range c.columns {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	if c.columns == nil && strings.Contains(report, "\ncolumn ") {
		t.Errorf("train says of columns\n%s", report)
	}
	must(slices.Concat([]string{"fit", c.file, "--model", "map.valla", "--out", "m.valla", "--method", "lla", "--weights", "last-layer"}, c.read)...)
	if predict := slices.Concat([]string{"predict", c.file, "--model", "m.valla"}, c.read); c.dropped == 0 {
		c.predicts(t, must(predict...))
	} else if _, errs, ok := runIn(t, dir, c.content, predict...); ok || !strings.Contains(errs, "expected a value, found") {
		t.Errorf("predictions for rows without a value: %q", errs)
	}
	scores := must(slices.Concat([]string{"eval", c.file, "--model", "m.valla"}, c.read)...)
	if !strings.HasPrefix(scores, fmt.Sprint(peopleRows-c.dropped, " rows")) {
		t.Errorf("eval printed\n%s", scores)
	}
}

// predicts checks predictions.
func (c peopleTable) predicts(t *testing.T, text string) {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(cells[0], ",") != c.out || len(cells) != peopleRows+1 {
		t.Fatalf("%d predictions of %q", len(cells)-1, cells[0])
	}
	for i, row := range cells[1:] {
		for j, cell := range row {
			v, err := strconv.ParseFloat(cell, 64)
			if word := cells[0][j] == "class"; err != nil && !word || err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Fatalf("row %d: %q", i, row)
			}
		}
	}
}

// What new rows have is taken as the training rows had it: by name, whatever else is there.
// TestIDsNamedAsOutputs: columns that name the rows and have names of outputs are in the predictions, and so are the outputs.
func TestIDsNamedAsOutputs(t *testing.T) {
	dir := t.TempDir()
	text := lines(40, "class,p_0,p_id,mean,sample_1,rows,x,y", func(i int) string {
		return fmt.Sprintf("c%d,0%d,p%d,m%d,s%d,r%d,%d,%d", i, i, i, i, i, i, i%7, i%2)
	})
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags         []string
		header, first string
		lists         map[string]string // the first element of lists of the document
	}{
		{[]string{"--classes"}, "id_class,id_p_0,p_id,mean,sample_1,rows,class,p_0,p_1,sample_1_p_0", "c0,00,p0,m0,s0,r0,",
			map[string]string{"id_class": "c0", "id_p_0": "00", "p_id": "p0", "mean": "m0", "sample_1": "s0", "id_rows": "r0"}},
		{nil, "class,p_0,p_id,id_mean,id_sample_1,rows,mean,std,lower,upper,epistemic,aleatoric,sample_1", "c0,00,p0,m0,s0,r0,",
			map[string]string{"class": "c0", "p_0": "00", "p_id": "p0", "id_mean": "m0", "sample_1": "s0", "id_rows": "r0"}},
	} {
		must(t, dir, slices.Concat(quickTrain, []string{"train", "t.csv", "--id", "class,p_0,p_id,mean,sample_1,rows", "--out", "map.valla"}, c.flags)...)
		must(t, dir, "fit", "t.csv", "--model", "map.valla", "--method", "lla", "--weights", "last-layer", "--out", "m.valla")
		args := []string{"predict", "t.csv", "--model", "m.valla", "--samples", "1"}
		if text := must(t, dir, args...); !strings.HasPrefix(text, c.header) || !strings.Contains(text, "\n"+c.first) {
			t.Errorf("%v: %.200s, want %s", c.flags, text, c.header)
		}
		var doc map[string]any
		decode(t, must(t, dir, with(args, "--json")...), &doc)
		for name, first := range c.lists {
			if list, ok := doc[name].([]any); !ok || list[0] != first {
				t.Errorf("%v: %s is %.80v, want a list from %s on", c.flags, name, doc[name], first)
			}
		}
		if doc["rows"] != 40. {
			t.Errorf("%v: %.80v rows, want 40", c.flags, doc["rows"])
		}
	}
}

func TestPredictOtherTables(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("train.csv", lines(90, "id,city,age,since,y,label", func(i int) string {
		return fmt.Sprintf("%03d,%s,%d,%s,%d,%s", i, pick(i, "Rome", "Oslo", "Lima"), 20+i%40, time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), i%3, pick(i, "x", "y", "z"))
	}))
	must(t, dir, with(quickTrain, "train", "train.csv", "--target", "label", "--classes", "--drop", "y", "--id", "id", "--out", "map.valla")...)
	header := "since;comment;id;age;city"
	row := "2020-01-05;never read, 1,5;007;33;%s\n"
	write("new.csv", []byte(header+"\n"+fmt.Sprintf(row, "Rome")+fmt.Sprintf(row, "Paris")+fmt.Sprintf(row, "Tokyo")))
	cells, err := csv.NewReader(strings.NewReader(must(t, dir, "predict", "new.csv", "--model", "map.valla"))).ReadAll()
	if err != nil || strings.Join(cells[0], ",") != "id,class,p_x,p_y,p_z" || cells[1][0] != "007" || !slices.Equal(cells[2], cells[3]) || slices.Equal(cells[1], cells[2]) {
		t.Errorf("predictions %q, error %v; two unknown cities have to be alike", cells, err)
	}
	var doc struct {
		Targets, Classes, Class, ID []string
		Rows                        int
		Link                        string
		Probs                       [][]float64
	}
	decode(t, must(t, dir, "predict", "new.csv", "--model", "map.valla", "--json"), &doc)
	if doc.Rows != 3 || !slices.Equal(doc.Classes, []string{"x", "y", "z"}) || doc.Class[0] != cells[1][1] || doc.ID[2] != "007" || len(doc.Probs) != 3 {
		t.Errorf("document %+v", doc)
	}
	write("gap.csv", []byte(header+"\n"+strings.Replace(fmt.Sprintf(row, ""), "33", "NA", 1)))
	r := run(t, dir, "predict", "gap.csv", "--model", "map.valla")
	if r.code != 0 || !strings.Contains(r.stderr, `gap.csv: 1 rows lack a value of "age", which no training row did`) {
		t.Errorf("a gap without precedent: exit code %d, stderr %q", r.code, r.stderr)
	}
	fails(t, dir, 1, `new.csv: no column "label", the target`, "eval", "new.csv", "--model", "map.valla")
	write("odd.csv", []byte("label;since;id;age;city\nq;2020-01-05;7;33;Rome\n"))
	fails(t, dir, 1, `odd.csv:2: column "label": expected one of the 3 classes "x", "y", "z", found "q"`, "eval", "odd.csv", "--model", "map.valla")
	if out := must(t, dir, "predict", "odd.csv", "--model", "map.valla", "--out", "-"); !strings.HasPrefix(out, "id,class") {
		t.Errorf("predicted %q beside a strange target", out)
	}
	write("bad.csv", []byte("since;id;age;city\nlately;7;33;Rome\n"))
	fails(t, dir, 1, `bad.csv:2: column "since": expected a date or time as in the training rows, found "lately"`, "predict", "bad.csv", "--model", "map.valla")
}

// Predictions and scores do not depend on how the rows come in batches.
func TestBatches(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	rows, n := example(12_000, 9), 12_000
	for name, from := range map[string]int{"many.csv": 0, "few.csv": n - 10} {
		text := lines(n-from, "a,b,y", func(i int) string { return fmt.Sprintf("%g,%g,%g", rows[from+i][0], rows[from+i][1], rows[from+i][2]) })
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := strings.Split(must(t, dir, "predict", "many.csv", "--model", "m.valla"), "\n")
	few := strings.Split(must(t, dir, "predict", "few.csv", "--model", "m.valla"), "\n")
	if len(all) != n+2 || !slices.Equal(all[n-9:], few[1:]) {
		t.Errorf("%d lines; the last differ: %q, %q", len(all), all[len(all)-3:], few)
	}
	must(t, dir, "predict", "many.csv", "--model", "m.valla", "--out", "p.npy")
	array, err := npy.Read(filepath.Join(dir, "p.npy"))
	if err != nil || array.Shape()[0] != n || !strings.HasPrefix(few[10], fmt.Sprint(array.Float64s()[6*(n-1)])+",") {
		t.Errorf("array %v, error %v", array.Shape(), err)
	}
	if out := must(t, dir, "eval", "many.csv", "--model", "m.valla"); !strings.HasPrefix(out, "12000 rows") {
		t.Errorf("eval printed %q", out)
	}
}
