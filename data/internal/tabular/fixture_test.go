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

	"github.com/go-valla/valla/data"
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
	px, py, pr := values(t, s, binary)
	cx, cy, cr := values(t, s, text)
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
	if pr != 68211 || len(py) != 67109 || cr != 67109 {
		t.Errorf("%d and %d rows read, %d kept", pr, cr, len(py))
	}
}

func TestFixtureFlights(t *testing.T) {
	s := nycFlights()
	dir := fixture.Shared(t, "data", s.Folder)
	s.shuffled = false
	x, y, r := values(t, s, dir+"/nycflights13_8feat.csv.gz")
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
	if r != 273853 { // as its README says
		t.Errorf("%d rows", r)
	}
}

// Both open. The standardizer of the training features is the standardizer of all rows of their
// part, and no feature is constant.
func TestFixtureOpen(t *testing.T) {
	for _, s := range []Set{nycFlights(), taxiGreen()} {
		train, validation, test, err := s.Open(fixture.Shared(t, "data", s.Folder))
		if err != nil {
			t.Fatal(err)
		}
		scale, err := data.FitStandardizer(train.X)
		if err != nil {
			t.Fatal(err)
		}
		n := train.N() + validation.N() + test.N()
		if a, b := s.split(n); a != train.N() || b != validation.N() {
			t.Errorf("%s: %d, %d and %d rows", s.Name, train.N(), validation.N(), test.N())
		}
		for j, name := range train.Features {
			sum, squares, mean := 0.0, 0.0, scale.Mean[j]
			for i, v := range train.X.Float64s() {
				if i%len(train.Features) == j {
					sum, squares = sum+v-mean, squares+(v-mean)*(v-mean)
				}
			}
			size, std := float64(train.N()), scale.Std[j]
			if math.Abs(sum/size/std) > 1e-9 || math.Abs(math.Sqrt(squares/size)/std-1) > 1e-9 {
				t.Errorf("%s, %s: mean %g, deviation %g", s.Name, name, mean, std)
			}
		}
	}
}
