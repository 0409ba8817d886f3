package valla

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/holdout"
)

// citizens writes a table of text, dates, gaps and labels, and returns its path.
func citizens(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("id,city,born,age,vote\n")
	for i := range n {
		age := fmt.Sprint(20 + i*i%50)
		if i%9 == 0 {
			age = "NA"
		}
		fmt.Fprintf(&text, "%d,%s,19%02d-01-02,%s,%s\n", i+1, []string{"Bonn", "Kiel", "Ulm", "Trier"}[i*i%7%4], 50+i%40, age, []string{"no", "yes"}[i*i%5%2])
	}
	path := filepath.Join(t.TempDir(), "citizens.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// encodedModel trains a model on a table of text.
func encodedModel(t *testing.T, path string) (*Model, *data.Set, *data.Table) {
	t.Helper()
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	o := quickTrain()
	o.Classes, o.Seed = true, 3
	set, err := Encode(table, data.ColumnOptions{ID: []string{"id"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, set, table
}

// A model keeps its encoding and its labels, in its file too, and applies them to other rows,
// in one piece or in batches.
func TestEncodedModel(t *testing.T) {
	path := citizens(t, 100)
	m, set, table := encodedModel(t, path)
	again := loaded(t, written(t, m))
	if !reflect.DeepEqual(again.Task.Inputs, m.Task.Inputs) || m.Task.Inputs.Encoding == nil {
		t.Errorf("inputs %+v, want %+v", again.Task.Inputs, m.Task.Inputs)
	}
	if c := again.Task.Outputs.(*task.Classification); !slices.Equal(c.Names, []string{"no", "yes"}) {
		t.Errorf("classes %+v", c)
	}
	whole, err := again.Set(table, true)
	if err != nil || !slices.Equal(whole.X.Float64s(), set.X.Float64s()) || !slices.Equal(whole.Y.Float64s(), set.Y.Float64s()) || again.Task.CheckSet(set) != nil {
		t.Errorf("other examples than those of the training, error %v", err)
	}
	o := PredictOptions{Link: MonteCarlo, Samples: 50}
	want, err := again.Predict(t.Context(), set.X, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := again.Open(data.TableReader{}, data.Part{Path: path}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got Prediction
	var ids []string
	for {
		o.First = rows.Read
		batch, err := rows.Next(30)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := again.Predict(t.Context(), batch.X, o)
		if err != nil {
			t.Fatal(err)
		}
		got.Append(p)
		ids = append(ids, rows.IDs[0]...)
	}
	if !reflect.DeepEqual(&got, want) || len(ids) != 100 || ids[99] != "100" || len(rows.Notes()) > 0 {
		t.Errorf("batches predict otherwise; ids %q, notes %q", ids, rows.Notes())
	}
	if got.ClassName(1) != "yes" {
		t.Errorf("class 1 is %q", got.ClassName(1))
	}
	whole.Labels = nil
	_, err = again.Evaluate(t.Context(), whole, PredictOptions{})
	oneLine(t, err, `expected the labels ["no" "yes"] of classes`)
}

// Medians and categories come from the rows to train on alone.
func TestEncodeByTrainingRows(t *testing.T) {
	m, set, table := encodedModel(t, citizens(t, 100))
	rows, _, err := holdout.Split(set, 0.1, 3)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(set.Features, "age")
	j, err := table.Column("age")
	if err != nil {
		t.Fatal(err)
	}
	var ages []float64
	for i := range rows.N() {
		if x := rows.X.Float64s()[i*len(set.Features):]; x[at+1] == 0 {
			ages = append(ages, x[at])
		}
	}
	slices.Sort(ages)
	n := len(ages)
	if got, want := m.Task.Inputs.Encoding.Columns[2].Median, (ages[(n-1)/2]+ages[n/2])/2; got != want || len(table.Words[j].List) == 0 {
		t.Errorf("median %g, want %g", got, want)
	}
}

// A network from elsewhere has taken numbers.
func TestWeightsOfText(t *testing.T) {
	_, set, _ := encodedModel(t, citizens(t, 40))
	_, err := FromWeights(t.Context(), "none.npz", set, WeightOptions{Classes: true})
	oneLine(t, err, "none.npz: expected columns of numbers without missing values", `"city" has 3 categories`)
}

func TestInputsWithAnotherEncoding(t *testing.T) {
	m, _, _ := encodedModel(t, citizens(t, 40))
	e := *m.Task.Inputs.Encoding
	e.Columns = e.Columns[1:]
	m.Task.Inputs.Encoding = &e
	oneLine(t, m.Save(filepath.Join(t.TempDir(), "m.valla")), "an encoding with the features")
}

// A gap that no training row had is filled, and noted; rows are left out where the model says so.
func TestRowsWithGaps(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write("t.csv", "a,b,y\n"+strings.Repeat("1,5,2\n2,6,3\n4,7,5\n", 20))
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	for missing, want := range map[string]int{data.MissingMedian: 2, data.MissingDrop: 1} {
		set, err := Encode(table, data.ColumnOptions{Missing: missing}, quickTrain())
		if err != nil {
			t.Fatal(err)
		}
		m, err := Train(t.Context(), set, quickTrain())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Open(data.TableReader{}, data.Part{Path: write("gaps.csv", "a,b,y\nNA,5,2\n1,5,2\n")}, true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.All(0)
		if at := got.Origin(got.N() - 1); at != 1 {
			t.Errorf("%s: the last row has the number %d", missing, at)
		}
		if err != nil || got.N() != want || len(rows.Notes()) != 1 || got.X.Dtype() != tensor.Float64 {
			t.Errorf("%s: %+v, notes %q, error %v", missing, got, rows.Notes(), err)
		}
		rows.Close()
	}
}
