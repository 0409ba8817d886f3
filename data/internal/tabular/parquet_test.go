package tabular

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/parquet-go/parquet-go"
)

// A rideRow has the needed columns of the commission's file, in another order, and
// others. Its columns may lack values, as the real ones may.
type rideRow struct {
	Vendor   int64    `parquet:"VendorID"`
	Total    *float64 `parquet:"total_amount,optional"`
	Pickup   *int64   `parquet:"tpep_pickup_datetime,optional,timestamp(microsecond)"`
	Dropoff  *int64   `parquet:"tpep_dropoff_datetime,optional,timestamp(microsecond)"`
	Flag     string   `parquet:"store_and_fwd_flag,dict"`
	Distance *float64 `parquet:"trip_distance,optional"`
	From     *int32   `parquet:"PULocationID,optional"`
	To       *int64   `parquet:"DOLocationID,optional,dict"`
}

// aRide is a ride of one minute that starts at second n of 2023.
func aRide(n int) rideRow {
	start := time.Date(2023, 1, 1, 0, 0, n, 0, time.UTC).UnixMicro()
	from, to := int32(n%265), int64(7)
	return rideRow{Total: new(float64(n) / 4), Pickup: new(start), Dropoff: new(start + 60e6), Flag: "N", Distance: new(0.5), From: &from, To: &to}
}

// written returns a Parquet file of rows; a row group ends after each of cut rows.
func written[T any](t testing.TB, cut int, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.Compression(&parquet.Snappy), parquet.PageBufferSize(2000))
	for i := range rows {
		if _, err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if (i+1)%cut == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Rows come out in their order over pages, row groups and files, with the times that package
// time computes.
func TestTaxi(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var rides []rideRow
	var wantX, wantY []float64
	low, high := 0, 0
	for i := range 5000 {
		r := aRide(i)
		*r.Pickup = rng.Int64N(4e15) - 2e15 // 1906 to 2033
		*r.Dropoff = *r.Pickup + rng.Int64N(25e9) - 3e9
		rides = append(rides, r)
		seconds := float64(*r.Dropoff-*r.Pickup) / 1e6
		switch {
		case seconds < 10:
			low++
			continue
		case seconds > 18000:
			high++
			continue
		}
		at := time.UnixMicro(*r.Pickup).UTC()
		midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		day := map[time.Weekday]float64{time.Monday: 0, time.Tuesday: 1, time.Wednesday: 2, time.Thursday: 3, time.Friday: 4, time.Saturday: 5, time.Sunday: 6}
		wantX = append(wantX, float64(at.Sub(midnight).Microseconds())/1e6, day[at.Weekday()], float64(at.Day()), float64(at.Month()),
			float64(*r.From), 7, 0.5, seconds)
		wantY = append(wantY, *r.Total)
	}
	one := put(t, "yellow_tripdata_2023-01.parquet", written(t, 1700, rides[:4000]...))
	two := put(t, "yellow_tripdata_2023-02.parquet", written(t, 1<<30, rides[4000:]...))
	x, y, r := values(t, taxi(), one, two)
	expectEqual(t, "features", x, wantX)
	expectEqual(t, "targets", y, wantY)
	if r != 5000 || len(y)+low+high != r || low == 0 || high == 0 {
		t.Errorf("%d rows read and %d kept, want %d and %d dropped", r, len(y), low, high)
	}
}

// Rides of exactly 10 s and 5 h are kept, as by the paper's filter.
func TestTaxiFilterEnds(t *testing.T) {
	var rides []rideRow
	for _, us := range []int64{10e6, 18000e6, 10e6 - 1, 18000e6 + 1, -60e6, 11e6, 12e6} {
		r := aRide(1)
		*r.Dropoff = *r.Pickup + us
		rides = append(rides, r)
	}
	s := taxi()
	s.split = counts(2, 1)
	x, _, r := values(t, s, put(t, "a.parquet", written(t, 3, rides...)))
	expectEqual(t, "durations", []float64{x[7], x[15], x[23], x[31]}, []float64{10, 18000, 11, 12})
	if r != 7 || len(x) != 4*8 {
		t.Errorf("%d rows and %d values", r, len(x))
	}
}

// stamps is a set of a time and a number.
func stamps() Set {
	return Set{
		Dataset: fetch.Dataset{Name: "stamps"}, Features: []string{"a"}, Target: "b", split: counts(1, 1),
		parquet: layout{columns: []string{"a", "b"}},
	}
}

// Times of other units become microseconds, rounded down.
func TestTimeUnits(t *testing.T) {
	type milli struct {
		A int64   `parquet:"a,timestamp(millisecond)"`
		B float32 `parquet:"b"`
	}
	type nano struct {
		A int64 `parquet:"a,timestamp(nanosecond)"`
		B int32 `parquet:"b"`
	}
	x, y, _ := values(t, stamps(), put(t, "a.parquet", written(t, 9, milli{-5, 1}, milli{5, 2}, milli{1e12, 0.5})))
	expectEqual(t, "milliseconds", x, []float64{-5000, 5000, 1e15})
	expectEqual(t, "numbers", y, []float64{1, 2, 0.5})
	x, y, _ = values(t, stamps(), put(t, "a.parquet", written(t, 9, nano{-1, 1}, nano{1999, -2}, nano{-2000, 3})))
	expectEqual(t, "nanoseconds", x, []float64{-1, 1, -2})
	expectEqual(t, "numbers", y, []float64{1, -2, 3})
}

func TestMalformedParquet(t *testing.T) {
	good := written(t, 9, aRide(1), aRide(2), aRide(3))
	null, nan := aRide(2), aRide(2)
	null.From, nan.Distance = nil, new(math.NaN())
	far := aRide(3)
	far.Pickup = new(int64(1) << 60)
	type words struct {
		A int64  `parquet:"a,timestamp(microsecond)"`
		B string `parquet:"b"`
	}
	type list struct {
		A int64   `parquet:"a,timestamp(microsecond)"`
		B []int64 `parquet:"b"`
	}
	type unsigned struct {
		A int64  `parquet:"a,timestamp(microsecond)"`
		B uint64 `parquet:"b"`
	}
	type group struct {
		A int64 `parquet:"a,timestamp(microsecond)"`
		B struct{ C int64 }
	}
	for name, c := range map[string]struct {
		set     Set
		content []byte
		say     []string
	}{
		"empty":          {taxi(), nil, []string{"expected a Parquet file, found an empty file"}},
		"CSV":            {taxi(), []byte("a,b\n1,2\n"), []string{`expected a Parquet file, found one that begins "a,b\n1,2\n"`}},
		"YAML":           {taxi(), []byte("name: taxi\nmodel:\n  layers: 3\n  width: 50\n"), []string{`expected a Parquet file, found one that begins "name: taxi\nmodel:`}},
		"gzip":           {taxi(), fixture.Gzip(t, good), []string{"expected a Parquet file, found a gzip file"}},
		"zip":            {taxi(), zipped(t, good, "a.parquet"), []string{"expected a Parquet file, found a zip archive"}},
		"short":          {taxi(), []byte("PAR1PAR1"), []string{"found only 8 bytes"}},
		"cut off":        {taxi(), good[:len(good)/2], []string{"at the end of a Parquet file", "it is cut off"}},
		"description":    {taxi(), append([]byte("PAR1"), "\xff\xff\xff\xffPAR1"...), []string{"4294967295 bytes of description in a file of 12"}},
		"no rows":        {taxi(), written[rideRow](t, 9), []string{": no rows"}},
		"other columns":  {taxiGreen(), good, []string{`no column "lpep_pickup_datetime"; it has `, `"tpep_pickup_datetime"`}},
		"no value":       {taxi(), written(t, 1, aRide(1), null), []string{`row 1 (counting from 0), column "PULocationID": expected a number, found ""`}},
		"NaN":            {taxi(), written(t, 9, aRide(1), nan), []string{`row 1 (counting from 0), column "trip_distance": expected a finite number, found "NaN"`}},
		"far away":       {taxi(), written(t, 2, aRide(1), aRide(2), far), []string{`row 2 (counting from 0), column "tpep_pickup_datetime": 1152921504606846976 is beyond 2⁵³ and was rounded`}},
		"few rows":       {small(taxi()), written(t, 9, aRide(1), aRide(2)), []string{"expected rows for training", "found 2 and kept 2"}},
		"words":          {stamps(), written(t, 9, words{1, "2"}), []string{`row 0 (counting from 0), column "b": expected a number, found "2"`}},
		"lists":          {stamps(), written(t, 9, list{1, []int64{2}}), []string{`no column "b"; it has "a", "b.0"`}},
		"too large":      {stamps(), written(t, 9, unsigned{1, 1 << 60}), []string{`row 0 (counting from 0), column "b": 1152921504606846976 is beyond 2⁵³`}},
		"group of names": {stamps(), written(t, 9, group{A: 1}), []string{`no column "b"; it has "a", "B.C"`}},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "file.parquet", c.content)
			expectError(t, refused(t, c.set, path), append(c.say, path)...)
		})
	}
}

// A file that is cut off is refused, and where a byte is wrong nothing worse happens than an error.
// Package data tests every place of a file.
func TestDamagedParquet(t *testing.T) {
	var rides []rideRow
	for i := range 20 {
		rides = append(rides, aRide(i))
	}
	good := written(t, 7, rides...)
	path := put(t, "a.parquet", nil)
	decode := func(content []byte) error {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return taxi().check(path, true)
	}
	for n := 0; n < len(good); n += 97 {
		expectError(t, decode(good[:n]), "a.parquet: ")
	}
	const step = 41
	refused := 0
	for i := 0; i < len(good); i += step {
		if err := decode(flip(bytes.Clone(good), i)); err != nil {
			expectError(t, err, "a.parquet: ")
			refused++
		}
	}
	if refused < len(good)/step/2 {
		t.Errorf("only %d of %d damaged files are refused", refused, len(good)/step)
	}
}

// Memory is reserved for the rows that a file claims to have. A file with many rows in few bytes
// is read all the same.
func TestReserve(t *testing.T) {
	path := put(t, "a.parquet", written(t, 9, aRide(1), aRide(2), aRide(3), aRide(4)))
	r, err := small(taxi()).read([]string{path, path})
	if err != nil || r.kept != 8 || len(r.x) != 64 || len(r.y) != 8 {
		t.Fatalf("%d rows (%v)", r.kept, err)
	}
	for _, c := range [][2]int{{5, 5}, {mostReserved + 1, mostReserved}, {1 << 60, mostReserved}} {
		r := stamps().reading(true)
		if r.reserve(c[0]); cap(r.x) < c[1] || cap(r.x) > 2*c[1] || cap(r.y) < c[1] || cap(r.y) > 2*c[1] {
			t.Errorf("%d rows: room for %d and %d values", c[0], cap(r.x), cap(r.y))
		}
	}
	type same struct {
		A int64 `parquet:"a,timestamp(microsecond),dict"`
		B int64 `parquet:"b,dict"`
	}
	path = put(t, "a.parquet", written(t, 1<<30, slices.Repeat([]same{{1, 2}}, 20000)...))
	if _, y, _ := values(t, stamps(), path); len(y) != 20000 {
		t.Errorf("%d rows", len(y))
	}
}
