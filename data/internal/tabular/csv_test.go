package tabular

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/tablefile"
)

const flightHeader = "Year,DepTime,ArrTime,Month,DayofMonth,DayOfWeek,plane_age,AirTime,Distance,Carrier,ArrDelay\n"

// Columns are found by name, others are ignored, and hhmm becomes minutes.
func TestAirline(t *testing.T) {
	rows := "2008,0,2400,1,2,3,4,5,6,\"A, B\",-7\n" +
		"2008,959,1000.0,1,3,4,5,6,7,,8\n" +
		"2008,2359,1,1,3,4,5,6,7,NaN,9\n" +
		"2008,100,101,1,3,4,5,6,7,x,10\n"
	x, y, r := values(t, small(airline()), put(t, "airline.csv", []byte(tablefile.ByteOrderMark+flightHeader+rows)))
	expectEqual(t, "features", x, []float64{
		1, 2, 3, 4, 5, 6, 1440, 0,
		1, 3, 4, 5, 6, 7, 600, 599,
		1, 3, 4, 5, 6, 7, 1, 1439,
		1, 3, 4, 5, 6, 7, 61, 60,
	})
	expectEqual(t, "targets", y, []float64{-7, 8, 9, 10})
	if r != 4 {
		t.Errorf("%d rows", r)
	}
}

// The rows after those that are used are not read.
func TestMost(t *testing.T) {
	s := plain()
	s.most = 4
	path := put(t, "p.csv", []byte("a,b\n1,2\n3,4\n5,6\n7,8\nwrong\n"))
	x, _, r := values(t, s, path, path) // nor further files
	expectEqual(t, "features", x, []float64{1, 3, 5, 7})
	if r != 4 {
		t.Errorf("%d rows", r)
	}
}

func TestYear(t *testing.T) {
	text := yearLine(2001, "-2.5") + yearLine(1999, "3") + yearLine(1950, "1e3") + yearLine(2011, "0")
	x, y, _ := values(t, small(year()), put(t, "YearPredictionMSD.txt", []byte(text)))
	expectEqual(t, "targets", y, []float64{2001, 1999, 1950, 2011})
	expectEqual(t, "first features", []float64{x[0], x[90], x[180], x[270]}, []float64{-2.5, 3, 1000, 0})
	expectEqual(t, "last features", []float64{x[89], x[359]}, []float64{1.5, 1.5})
	s := year()
	if len(s.Features) != 90 || s.Features[12] != "TimbreCovariance1" {
		t.Errorf("features %v", s.Features)
	}
	// The numbers come from the paper's code; 51,630 are the rest of 515,345.
	if a, b := s.split(s.rows); a != 400000 || b != 63715 || s.rows-a-b != 51630 {
		t.Errorf("splits %d, %d of %d", a, b, s.rows)
	}
}

// Every malformed file is refused with one line: file, place, expected and found.
func TestMalformedCSV(t *testing.T) {
	flight := func(departure string) string {
		return flightHeader + "2008,1,2,1,1,1,1,1,1,x,1\n" + "2008," + departure + ",2,1,1,1,1,1,1,x,1\n"
	}
	for name, c := range map[string]struct {
		set  Set
		text string
		say  []string
	}{
		"empty":          {plain(), "", []string{"expected comma-separated text, found an empty file"}},
		"header only":    {plain(), "a,b\n", []string{": no rows"}},
		"blank lines":    {plain(), "\n\n", []string{": no rows"}},
		"missing column": {plain(), "a,c\n1,2\n", []string{": no column \"b\"; it has \"a\", \"c\""}},
		"column twice":   {plain(), "a,b,b\n1,2,3\n", []string{"two columns are called \"b\""}},
		"no header":      {plain(), "1,2\n3,4\n", []string{": no column \"a\"; it has \"1\", \"2\""}},
		"word":           {plain(), "a,b\n1,2\n3,four\n", []string{":3: column \"b\": expected a number, found \"four\""}},
		"empty cell":     {plain(), "a,b\n1,\n", []string{":2: column \"b\": expected a number, found \"\""}},
		"lines in cell":  {plain(), "a,b\n1,\"x\ny\"\n", []string{"expected a number, found \"x\\ny\""}},
		"long cell":      {plain(), "a,b\n1," + strings.Repeat("z", 1000) + "\n", []string{"found \"" + strings.Repeat("z", 40) + "\"..."}},
		"NaN":            {plain(), "a,b\n1,2\nNaN,2\n", []string{":3: column \"a\": expected a finite number, found \"NaN\""}},
		"infinite":       {plain(), "a,b\n1,-Inf\n", []string{":2: column \"b\"", "expected a finite number, found \"-Inf\""}},
		"too large":      {plain(), "a,b\n1,1e999\n", []string{"expected a finite number, found \"1e999\""}},
		"short row":      {plain(), "a,b\n1,2\n3\n", []string{":3: expected 2 cells, found 1"}},
		"long row":       {plain(), "a,b\n1,2,3\n", []string{":2: expected 2 cells, found 3"}},
		"quote":          {plain(), "a,b\n1,2\n3,\"4\n", []string{":3: extraneous or missing \" in quoted-field"}},
		"few rows":       {plain(), "a,b\n1,2\n3,4\n5,6\n", []string{"expected rows for training, validation and testing (2, 1 and more), found 3"}},
		"YAML":           {plain(), "name: year\nsize: 3\n", []string{": no column \"a\"; it has \"name: year\""}},
		"Parquet":        {plain(), "PAR1...PAR1", []string{"expected comma-separated text, found a Parquet file"}},
		"year, columns":  {small(year()), "2001,1,2\n", []string{": expected 91 columns, found 3"}},
		"year, header":   {small(year()), strings.Repeat("x,", 90) + "x\n", []string{":1: column \"Year\": expected a number"}},
		"hhmm 2561":      {small(airline()), flight("2561"), []string{": row 1 (counting from 0), column \"DepTime\": expected a time of day hhmm of 0000 to 2400, found 2561"}},
		"hhmm 2401":      {small(airline()), flight("2401"), []string{"hhmm"}},
		"hhmm 1260":      {small(airline()), flight("1260"), []string{"hhmm"}},
		"hhmm -1":        {small(airline()), flight("-1"), []string{"hhmm"}},
		"hhmm 12.5":      {small(airline()), flight("12.5"), []string{"hhmm"}},
		"hhmm NA":        {small(airline()), flight("NA"), []string{":3: column \"DepTime\"", "expected a number, found \"NA\""}},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "file.csv", []byte(c.text))
			expectError(t, refused(t, c.set, path), append(c.say, path)...)
		})
	}
}

// A file that lacks rows, as one cut off between two lines does, is refused.
func TestRowCount(t *testing.T) {
	s := plain()
	s.rows = 5
	path := put(t, "p.csv", []byte("a,b\n1,2\n3,4\n5,6\n7,8\n"))
	expectError(t, refused(t, s, path), path, "expected 5 rows, found 4")
	expectError(t, s.check(path, false), path, "expected 5 rows, found 4")
	s.rows = 4
	if err := s.check(path, false); err != nil {
		t.Error(err)
	}
}
