package tabular

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// slowly reads a packed CSV file cell by cell, into columns.
func slowly(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := make(map[string][]float64)
	for j, name := range all[0] {
		for _, row := range all[1:] {
			v, err := strconv.ParseFloat(row[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[name] = append(columns[name], v)
		}
	}
	return columns
}

// The commission's Parquet file and the CSV file that pandas made of it give the same
// rows. An obvious reader gives these rows, too.
func TestFixtureTaxiGreen(t *testing.T) {
	s := taxiGreen()
	dir := fixture.Shared(t, "data", s.Folder)
	binary, text := dir+"/green_tripdata_2023-01.parquet", dir+"/green_2023-01_8feat.csv.gz"
	px, py, pr := values(t, s, Options{}, binary)
	cx, cy, cr := values(t, s, Options{}, text)
	if !slices.Equal(px, cx) || !slices.Equal(py, cy) {
		t.Errorf("%d rows of Parquet and %d of CSV differ", len(py), len(cy))
	}
	slow := slowly(t, text)
	for j, name := range s.Features {
		for i, want := range slow[name] {
			if got := px[i*8+j]; got != want {
				t.Fatalf("row %d, %s: %g, want %g", i, name, got, want)
			}
		}
	}
	expectEqual(t, "targets", py, slow[s.Target])
	// 68,211 rows are what the file's description says, 67,109 what its README does.
	if pr.Rows != 68211 || pr.Kept != 67109 || cr.Rows != cr.Kept || cr.Kept != pr.Kept {
		t.Errorf("reports %v, %v", pr, cr)
	}
	if pr.Kept+pr.Dropped[0].Rows+pr.Dropped[1].Rows != pr.Rows {
		t.Errorf("rows are lost: %v", pr)
	}
}

func TestFixtureFlights(t *testing.T) {
	s := nycFlights()
	dir := fixture.Shared(t, "data", s.Folder)
	s.shuffled = false
	x, y, r := values(t, s, Options{}, dir+"/nycflights13_8feat.csv.gz")
	slow := slowly(t, dir+"/nycflights13_8feat.csv.gz")
	for j, name := range s.Features {
		for i, want := range slow[name] {
			if name == "ArrTime" || name == "DepTime" {
				hhmm := fmt.Sprintf("%04.0f", want)
				h, _ := strconv.Atoi(hhmm[:2])
				m, _ := strconv.Atoi(hhmm[2:])
				want = float64(60*h + m)
			}
			if got := x[i*8+j]; got != want {
				t.Fatalf("row %d, %s: %g, want %g", i, name, got, want)
			}
		}
	}
	expectEqual(t, "targets", y, slow[s.Target])
	if r.Rows != 273853 { // as its README says
		t.Errorf("%d rows", r.Rows)
	}
}

// Both open, and standardized features of the training part have mean 0 and
// deviation 1, but for the 1e-6 of the paper's code.
func TestFixtureOpen(t *testing.T) {
	for _, s := range []Set{nycFlights(), taxiGreen()} {
		splits, r, err := s.Open(fixture.Shared(t, "data", s.Folder), Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(r)
		for j, f := range splits.Train.Features {
			t.Logf("%-14s mean %10.4f, std %10.4f", f, splits.Inputs.Mean[j], splits.Inputs.Std[j])
		}
		t.Logf("%-14s mean %10.4f, std %10.4f", splits.Train.Targets[0], splits.Targets.Mean[0], splits.Targets.Std[0])
		if err := splits.standardize(); err != nil {
			t.Fatal(err)
		}
		x, n := splits.Train.X.Float64s(), splits.Train.N()
		for j := range splits.Train.Features {
			sum, squares := 0.0, 0.0
			for i := range n {
				sum += x[i*8+j]
				squares += x[i*8+j] * x[i*8+j]
			}
			std := splits.Inputs.Std[j]
			if mean, got, want := sum/float64(n), math.Sqrt(squares/float64(n)), (std-1e-6)/std; math.Abs(mean) > 1e-9 || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s, column %d: mean %g, deviation %g, want 0 and %g", s.Name, j, mean, got, want)
			}
		}
	}
}
