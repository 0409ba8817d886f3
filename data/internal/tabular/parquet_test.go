package tabular

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

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
	x, y, r := values(t, taxi(), Options{}, one, two)
	expectEqual(t, "features", x, wantX)
	expectEqual(t, "targets", y, wantY)
	if r.Rows != 5000 || r.Kept != len(wantY) || r.Dropped[0].Rows != low || r.Dropped[1].Rows != high || low == 0 || high == 0 {
		t.Errorf("report %v, want %d and %d dropped", r, low, high)
	}
	info, err := os.Stat(one)
	if err != nil || r.Bytes <= info.Size() {
		t.Errorf("%d bytes, of which the first file has %d (%v)", r.Bytes, info.Size(), err)
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
	x, _, r := values(t, s, Options{}, put(t, "a.parquet", written(t, 3, rides...)))
	expectEqual(t, "durations", []float64{x[7], x[15], x[23], x[31]}, []float64{10, 18000, 11, 12})
	if r.Dropped[0].Rows != 2 || r.Dropped[1].Rows != 1 {
		t.Errorf("dropped %v", r.Dropped)
	}
}

// stamps is a set of a time and a number.
func stamps() Set {
	return Set{
		Name: "stamps", Features: []string{"a"}, Target: "b", split: counts(1, 1),
		parquet: layout{fields: []field{{name: "a", time: true}, {name: "b"}}},
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
	x, y, _ := values(t, stamps(), Options{}, put(t, "a.parquet", written(t, 9, milli{-5, 1}, milli{5, 2}, milli{1e12, 0.5})))
	expectEqual(t, "milliseconds", x, []float64{-5000, 5000, 1e15})
	expectEqual(t, "numbers", y, []float64{1, 2, 0.5})
	x, y, _ = values(t, stamps(), Options{}, put(t, "a.parquet", written(t, 9, nano{-1, 1}, nano{1999, -2}, nano{-2000, 3})))
	expectEqual(t, "nanoseconds", x, []float64{-1, 1, -2})
	expectEqual(t, "numbers", y, []float64{1, -2, 3})
}

func TestMalformedParquet(t *testing.T) {
	good := written(t, 9, aRide(1), aRide(2), aRide(3))
	null, nan := aRide(2), aRide(2)
	null.From, nan.Distance = nil, new(math.NaN())
	far := aRide(3)
	far.Pickup = new(int64(1) << 60)
	type noTime struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"b"`
	}
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
		"no rows":        {taxi(), written[rideRow](t, 9), []string{"expected rows of numbers, found none"}},
		"other columns":  {taxiGreen(), good, []string{`expected a column "lpep_pickup_datetime", found `, `"tpep_pickup_datetime"`}},
		"no value":       {taxi(), written(t, 1, aRide(1), null), []string{`row 1 (counting from 0), column "PULocationID": expected a value, found "<null>"`}},
		"NaN":            {taxi(), written(t, 9, aRide(1), nan), []string{`row 1 (counting from 0), column "trip_distance": expected a finite number, found "NaN"`}},
		"far away":       {taxi(), written(t, 2, aRide(1), aRide(2), far), []string{`row 2 (counting from 0), column "tpep_pickup_datetime": expected a value of at most 9007199254740992`}},
		"few rows":       {small(taxi()), written(t, 9, aRide(1), aRide(2)), []string{"expected rows for training", "found 2 and kept 2"}},
		"integer times":  {stamps(), written(t, 9, noTime{1, 2}), []string{`column "a": expected timestamps, found INT`}},
		"words":          {stamps(), written(t, 9, words{1, "2"}), []string{`column "b": expected numbers, found STRING`}},
		"lists":          {stamps(), written(t, 9, list{1, []int64{2}}), []string{`column "b": expected numbers, found lists`}},
		"unsigned":       {stamps(), written(t, 9, unsigned{1, 2}), []string{`column "b": expected numbers, found INT(64,false)`}},
		"group of names": {stamps(), written(t, 9, group{A: 1}), []string{`expected a column "b", found "a", "B"`}},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "file.parquet", c.content)
			splits, report, err := c.set.open([]string{path}, Options{})
			expectError(t, err, append(c.say, path)...)
			if splits != nil || report != nil {
				t.Error("half a result comes with the error")
			}
		})
	}
}

// Wherever a file is cut off it is refused, and wherever a byte is wrong nothing
// worse happens than an error.
func TestDamagedParquet(t *testing.T) {
	var rides []rideRow
	for i := range 20 {
		rides = append(rides, aRide(i))
	}
	good := written(t, 7, rides...)
	decode := func(content []byte) error {
		return decodeParquet("a.parquet", section(content), taxi().parquet, func([]float64) error { return nil })
	}
	for n := range good {
		expectError(t, decode(good[:n]), "a.parquet: ")
	}
	refused := 0
	for i := range good {
		if err := decode(flip(bytes.Clone(good), i)); err != nil {
			expectError(t, err, "a.parquet: ")
			refused++
		}
	}
	if refused < len(good)/2 {
		t.Errorf("only %d of %d damaged files are refused", refused, len(good))
	}
}

// Memory is reserved for the rows that files claim to have, but for no more rows than they
// have bytes. Files with more rows than that are read all the same.
func TestExpect(t *testing.T) {
	path := put(t, "a.parquet", written(t, 9, aRide(1), aRide(2), aRide(3), aRide(4)))
	if n, err := small(taxi()).expect([]string{path, path}); err != nil || n != 8 {
		t.Errorf("expects %d rows (%v), want 8", n, err)
	}
	if n, err := small(taxi()).expect([]string{"a.csv"}); n != 0 || err != nil {
		t.Errorf("expects %d rows of a CSV file (%v)", n, err)
	}
	if _, err := small(taxi()).expect([]string{"absent.parquet"}); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
	type same struct {
		A int64 `parquet:"a,timestamp(microsecond),dict"`
		B int64 `parquet:"b,dict"`
	}
	content := written(t, 1<<30, slices.Repeat([]same{{1, 2}}, 20000)...)
	path = put(t, "a.parquet", content)
	if n, err := stamps().expect([]string{path}); err != nil || n != len(content) || n >= 20000 {
		t.Errorf("expects %d rows of %d bytes (%v)", n, len(content), err)
	}
	if _, y, _ := values(t, stamps(), Options{}, path); len(y) != 20000 {
		t.Errorf("%d rows", len(y))
	}
}
