package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
)

// extremeCells are functions that make the cells of a column of an extreme table.
var extremeCells = map[string]func(i int, rng *rand.Rand) string{
	"normal":    func(_ int, rng *rand.Rand) string { return fmt.Sprint(rng.NormFloat64()) },
	"constant":  func(int, *rand.Rand) string { return "7" },
	"huge":      func(_ int, rng *rand.Rand) string { return fmt.Sprint(1e300 * rng.NormFloat64()) },
	"largest":   func(i int, _ *rand.Rand) string { return []string{"1.7976931348623157e308", "-1.7976931348623157e308"}[i%2] },
	"tiny":      func(_ int, rng *rand.Rand) string { return fmt.Sprint(1e-300 * rng.NormFloat64()) },
	"denormal":  func(i int, _ *rand.Rand) string { return []string{"5e-324", "0", "-1e-320"}[i%3] },
	"mixed":     func(_ int, rng *rand.Rand) string { return fmt.Sprint(math.Pow(10, 600*rng.Float64()-300)) },
	"integers":  func(i int, _ *rand.Rand) string { return strconv.Itoa(1<<53 + i) },
	"offset":    func(_ int, rng *rand.Rand) string { return fmt.Sprint(1e12 + rng.NormFloat64()) },
	"outlier":   func(i int, rng *rand.Rand) string { return fmt.Sprint(rng.NormFloat64() + 1e12*float64(i/7%2*(i%7/6))) },
	"heavy":     func(_ int, rng *rand.Rand) string { return fmt.Sprint(math.Tan(math.Pi * (rng.Float64() - 0.5))) },
	"skew":      func(_ int, rng *rand.Rand) string { return fmt.Sprint(math.Exp(20 * rng.NormFloat64())) },
	"labels":    func(i int, _ *rand.Rand) string { return strconv.Itoa(i % 2) },
	"words":     func(i int, _ *rand.Rand) string { return []string{"a", "b", `"c, d"`, "é\u0301", "NaN"}[i%5] },
	"different": func(i int, _ *rand.Rand) string { return fmt.Sprintf("word%d", i) },
	"dates":     func(i int, _ *rand.Rand) string { return fmt.Sprintf("%04d-02-28", 1+(i*997)%9999) },
	"gaps":      func(i int, rng *rand.Rand) string { return []string{"", fmt.Sprint(rng.NormFloat64())}[i%2] },
	"missing":   func(int, *rand.Rand) string { return "" },
	"one value": func(i int, _ *rand.Rand) string { return []string{"", "3"}[max(0, 1-i)] },
	"infinite":  func(i int, _ *rand.Rand) string { return []string{"inf", "1", "-Infinity"}[i%3] },
	"not":       func(i int, _ *rand.Rand) string { return []string{"NaN", "1", "2"}[i%3] },
}

// extremeNames are the names of extremeCells in a fixed order.
var extremeNames = []string{"normal", "constant", "huge", "largest", "tiny", "denormal", "mixed", "integers", "offset", "outlier", "heavy", "skew",
	"labels", "words", "different", "dates", "gaps", "missing", "one value", "infinite", "not"}

// extremeTable returns a table of text with random columns, the last of which is y, and its description.
func extremeTable(rng *rand.Rand) (text, what string) {
	rows, kinds := []int{2, 10, 12, 20, 60, 200}[rng.IntN(6)], make([]string, 2+rng.IntN(4))
	names := make([]string, len(kinds))
	for j := range kinds {
		kinds[j], names[j] = extremeNames[rng.IntN(len(extremeNames))], fmt.Sprint("x", j)
	}
	if names[len(names)-1] = "y"; rng.IntN(2) == 0 { // half of the targets can be learned
		kinds[len(kinds)-1] = "normal"
	}
	text = strings.Join(names, ",") + "\n"
	for i := range rows {
		cells := make([]string, len(kinds))
		for j, kind := range kinds {
			cells[j] = extremeCells[kind](i, rng)
		}
		text += strings.Join(cells, ",") + "\n"
	}
	return text, fmt.Sprintf("%d rows of %v", rows, kinds)
}

// tries returns how many tries a test makes: VALLA_TRIES, or a few.
func tries(t *testing.T, few int) int {
	text := os.Getenv("VALLA_TRIES")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestExtremeTables: a network is trained on a table with extreme columns, is fitted with each method in turn, and predicts
// finite numbers, or the error is one line. There are 30 tables, or as many as VALLA_TRIES says.
func TestExtremeTables(t *testing.T) {
	stages, methods := map[string]int{}, ownMethods()
	for k := range tries(t, 30) {
		text, what := extremeTable(rand.New(rand.NewPCG(11, uint64(k))))
		path := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		how := methods[k%len(methods)]
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			stage, err := throughTable(t, path, func(m *Model, set *data.Set) (*Model, error) {
				return m.Fit(t.Context(), set, FitOptions{Settings: tinySettings(t, how)})
			})
			stages[stage]++
			if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000) {
				t.Errorf("%s, %s: error of several lines or more than 1,000 bytes at %s: %.1500s", what, how.Name, stage, err)
			}
		})
	}
	t.Logf("tables, by the stage that they reached: %v", stages)
	if stages["done"] == 0 {
		t.Error("no table was predicted")
	}
}

// throughTable trains, fits, writes, reads, predicts and scores the table at path. It returns the stage at which an error
// came.
func throughTable(t *testing.T, path string, fit func(*Model, *data.Set) (*Model, error)) (stage string, err error) {
	o := TrainOptions{Network: Network{Hidden: []int{4}}, Training: Training{Iterations: 30}}
	table, err := data.ReadTable(path)
	if err != nil {
		return "read", err
	}
	set, err := Encode(table, data.ColumnOptions{Targets: []string{"y"}}, o)
	if err != nil {
		return "encode", err
	}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		return "train", err
	}
	if m, err = fit(m, set); err != nil {
		return "fit", err
	}
	p, err := loaded(t, written(t, m)).Predict(t.Context(), set.X, PredictOptions{})
	if err != nil {
		return "predict", err
	}
	for i, v := range p.Variance {
		if !(v > 0) || p.Mean[i]-p.Mean[i] != 0 {
			t.Errorf("row %d: mean %g, variance %g", i, p.Mean[i], v)
		}
	}
	s, err := m.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		return "score", err
	}
	if math.IsNaN(s.NLL()) {
		t.Error("the NLL is NaN")
	}
	return "done", nil
}
