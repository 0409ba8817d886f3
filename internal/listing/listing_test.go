package listing

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/settings"
)

// names returns the names of the columns.
func names(p *Predictions) (out []string) {
	for _, c := range p.Columns {
		out = append(out, c.Name)
	}
	return out
}

// TestClasses: the columns of a classification are the name of the most probable class and the
// probabilities, after the columns that name the rows.
func TestClasses(t *testing.T) {
	p := &valla.Prediction{Targets: []string{"y"}, Classes: []float64{0, 1, 2}, Labels: []string{"a", "b", "c"}, Link: valla.Probit,
		Probs: []float64{0.2, 0.7, 0.1, 0.5, 0.2, 0.3}}
	got, err := Of(t.Context(), p, Options{Level: 0.95}, Column{Name: "id", Texts: []string{"r1", "r2"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"id", "class", "p_a", "p_b", "p_c"}; !slices.Equal(names(got), want) || got.Rows != 2 {
		t.Errorf("%d rows of %q, want %q", got.Rows, names(got), want)
	}
	if !slices.Equal(got.Columns[1].Texts, []string{"b", "a"}) || !slices.Equal(got.Columns[3].Values, []float64{0.7, 0.2}) {
		t.Errorf("classes %q, probabilities of b %v", got.Columns[1].Texts, got.Columns[3].Values)
	}
	if len(got.Probs) != 2 || !slices.Equal(got.Probs[1], []float64{0.5, 0.2, 0.3}) || !slices.Equal(got.Head["classes"].([]string), p.Labels) {
		t.Errorf("probabilities %v, head %v", got.Probs, got.Head)
	}
	p.Labels = nil
	if got, err = Of(t.Context(), p, Options{Level: 0.95}); err != nil || !slices.Equal(got.Columns[0].Values, []float64{1, 0}) || got.Columns[0].Texts != nil || names(got)[1] != "p_0" {
		t.Errorf("classes that are numbers: %+v, error %v", got, err)
	}
	p.Classes = []float64{0.5, 1e6, 1234567}
	var text bytes.Buffer
	for _, ids := range [][]Column{nil, {{Name: "id", Texts: []string{"r", "s"}}}} {
		text.Reset()
		w := NewWriter(&text)
		got, err := Of(t.Context(), p, Options{Level: 0.95}, ids...)
		if err = errors.Join(err, w.Header(got), w.Rows(got)); err != nil || !strings.Contains(text.String(), "class,p_0.5,p_1000000,p_1234567\n") || !strings.Contains(text.String(), "1000000,0.2,") {
			t.Errorf("classes of seven digits: %s, error %v", text.String(), err)
		}
	}
}

// TestNames: IDs alone change their names, and the new name is taken by no other column.
func TestNames(t *testing.T) {
	columns := []Column{{Name: "mean", ID: true}, {Name: "id_mean", ID: true}, {Name: "rows", ID: true}, {Name: "mean"}}
	if got, want := Names(columns, "rows"), []string{"id_id_mean", "id_mean", "id_rows", "mean"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// TestAdd takes one column of a matrix.
func TestAdd(t *testing.T) {
	p := &Predictions{Rows: 2}
	p.Add("b", []float64{1, 2, 3, 4, 5, 6}, 1, 3)
	if c := p.Columns[0]; c.Name != "b" || !slices.Equal(c.Values, []float64{2, 5}) {
		t.Errorf("column %+v", c)
	}
}

// batch draws a batch with a column of numbers and, if texts is true, a column of texts.
func batch(t *rapid.T, texts bool) *Predictions {
	p := &Predictions{Rows: rapid.IntRange(0, 5).Draw(t, "rows")}
	numbers := Column{Name: "x, y", Values: make([]float64, p.Rows)}
	words := Column{Name: "word", Texts: make([]string, p.Rows)}
	for i := range p.Rows {
		numbers.Values[i] = rapid.Float64().Draw(t, "number")
		words.Texts[i] = rapid.StringMatching("[a-z,\"\n é]{0,6}").Draw(t, "word")
	}
	p.Columns = []Column{numbers}
	if texts {
		p.Columns = append(p.Columns, words)
	}
	return p
}

// TestWriterRoundTrip: the text of several batches, read again, has the same cells to the last digit,
// and is the text of the joined batches.
func TestWriterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.Bool().Draw(t, "texts")
		batches := []*Predictions{batch(t, texts), batch(t, texts)}
		var all Predictions
		var apart, joined bytes.Buffer
		w := NewWriter(&apart)
		if err := w.Header(batches[0]); err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			if err := w.Rows(b); err != nil {
				t.Fatal(err)
			}
			c := *b
			c.Columns = slices.Clone(b.Columns)
			if err := all.Join(&c); err != nil {
				t.Fatal(err)
			}
		}
		w = NewWriter(&joined)
		if err := w.Header(&all); err != nil {
			t.Fatal(err)
		}
		if err := w.Rows(&all); err != nil {
			t.Fatal(err)
		}
		if apart.String() != joined.String() {
			t.Fatalf("batches give %q, all rows %q", &apart, &joined)
		}
		cells, err := csv.NewReader(&joined).ReadAll()
		if err != nil || len(cells) != 1+all.Rows || cells[0][0] != "x, y" {
			t.Fatalf("%d lines for %d rows, error %v", len(cells), all.Rows, err)
		}
		for i, row := range cells[1:] {
			if v, err := strconv.ParseFloat(row[0], 64); err != nil || v != all.Columns[0].Values[i] {
				t.Fatalf("row %d: %q, want %g", i, row[0], all.Columns[0].Values[i])
			}
			if texts && row[1] != strings.ReplaceAll(all.Columns[1].Texts[i], "\r\n", "\n") {
				t.Fatalf("row %d: %q, want %q", i, row[1], all.Columns[1].Texts[i])
			}
		}
	})
}

// TestWriterErrors: the error of the writer below is returned.
func TestWriterErrors(t *testing.T) {
	p := &Predictions{Rows: 1, Columns: []Column{{Name: "a", Values: []float64{1}}}}
	if err := NewWriter(full{}).Header(p); err == nil {
		t.Error("a heading went to a full disk")
	}
	if err := NewWriter(full{}).Rows(p); err == nil {
		t.Error("rows went to a full disk")
	}
}

// full is a writer that has no room.
type full struct{}

// Write returns an error.
func (full) Write([]byte) (int, error) { return 0, csv.ErrFieldCount }

// TestFurther: each target has a column for each level and each threshold, and classes are an error.
func TestFurther(t *testing.T) {
	p := &valla.Prediction{Targets: []string{"a", "b"}, Mean: []float64{0, 10, 1, 20}, Variance: []float64{1, 4, 9, 16},
		Epistemic: make([]float64, 4), Aleatoric: make([]float64, 4)}
	plain, err := Of(t.Context(), p, Options{Level: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Level: 0.9, Quantiles: []float64{0.5, 0.5}}, {Level: 0.9, Above: []float64{1, 2, 1}}} {
		if _, err := Of(t.Context(), p, o); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%+v: error %v of two columns with one name", o, err)
		}
	}
	r, err := Of(t.Context(), p, Options{Level: 0.9, Quantiles: []float64{0.25, 0.5}, Above: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	r.Columns = r.Columns[len(plain.Columns):]
	if want := []string{"q0.25_a", "q0.25_b", "q0.5_a", "q0.5_b", "above_1_a", "above_1_b"}; !slices.Equal(names(r), want) {
		t.Errorf("columns %q, want %q", names(r), want)
	}
	if v := r.Columns[1].Values; math.Abs(v[0]-(10-2*0.6744897501960817)) > 1e-12 || math.Abs(v[1]-(20-4*0.6744897501960817)) > 1e-12 || r.Columns[2].Values[1] != 1 {
		t.Errorf("quartiles %v, medians %v", v, r.Columns[2].Values)
	}
	if v := r.Columns[4].Values; math.Abs(v[0]-0.15865525393145707) > 1e-12 || math.Abs(v[1]-0.5) > 1e-12 {
		t.Errorf("probabilities above 1: %v", v)
	}
	classes := &valla.Prediction{Classes: []float64{0, 1}, Probs: []float64{0.5, 0.5}}
	for _, o := range []Options{{Level: 0.9, Quantiles: []float64{0.5}}, {Level: 0.9, Above: []float64{1}}} {
		if _, err := Of(t.Context(), classes, o); err == nil || !strings.Contains(err.Error(), "quantiles of classes") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
