package listing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// openRows returns the rows of a file with n lines, as a network of one input takes them.
func openRows(t *testing.T, n int) *valla.Rows {
	t.Helper()
	m, path := lines(t, n)
	return partOf(t, m, data.Part{Path: path})
}

// partOf returns the rows of a part of a file.
func partOf(t *testing.T, m *valla.Model, part data.Part) *valla.Rows {
	t.Helper()
	rows, err := m.Open(data.TableReader{}, part, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rows.Close)
	return rows
}

// lines returns the path of a file with n lines, and a network of one input that reads the file.
func lines(t *testing.T, n int) (*valla.Model, string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("x,y\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,%d\n", i, 2*i)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := table.Set("y")
	if err != nil {
		t.Fatal(err)
	}
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{1}}, Training: valla.Training{Iterations: 1, BatchSize: 10}})
	if err != nil {
		t.Fatal(err)
	}
	return m, path
}

// TestBatches: the batches have all rows in order, and each batch comes with the number of rows before it.
func TestBatches(t *testing.T) {
	const n = 25_000
	next, batches := 0, 0
	err := Batches(t.Context(), openRows(t, n), func(first int, set *data.Set) error {
		if x := set.X.Float64s(); first != next || x[0] != float64(first) {
			t.Errorf("batch %d begins with row %d and the input %g, want row %d", batches, first, x[0], next)
		}
		next, batches = next+set.N(), batches+1
		return nil
	})
	if err != nil || next != n || batches < 2 {
		t.Errorf("%d rows in %d batches, error %v", next, batches, err)
	}
}

// TestBatchesEnd: an error ends the reading and names the file and, after the first batch, the first row.
func TestBatchesEnd(t *testing.T) {
	bad := errors.New("bad row")
	for at, want := range map[int]string{0: "rows.csv: bad row", 1: "rows.csv: rows from 10000 on: bad row"} {
		batch := 0
		err := Batches(t.Context(), openRows(t, 15_000), func(int, *data.Set) error {
			if batch++; batch > at {
				return bad
			}
			return nil
		})
		if !errors.Is(err, bad) || !strings.HasSuffix(err.Error(), want) || batch != at+1 {
			t.Errorf("error %v after %d batches, want %q", err, batch, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := Batches(ctx, openRows(t, 15_000), func(int, *data.Set) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that was ended returns %v", err)
	}
}

// TestBatchesOfGroups: an error in row groups of a Parquet file names the row of the file.
func TestBatchesOfGroups(t *testing.T) {
	type row struct {
		X float64 `parquet:"x"`
	}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := parquet.WriteFile(path, make([]row, 50), parquet.MaxRowsPerRowGroup(20)); err != nil {
		t.Fatal(err)
	}
	m, _ := lines(t, 10)
	rows := partOf(t, m, data.Part{Path: path, Unit: "groups", From: 1, To: 3})
	err := Batches(t.Context(), rows, func(int, *data.Set) error { return errors.New("bad row") })
	if err == nil || !strings.HasSuffix(err.Error(), "rows.parquet: rows from 20 on: bad row") {
		t.Errorf("error %v", err)
	}
}
