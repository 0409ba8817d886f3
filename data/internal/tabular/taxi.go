package tabular

import (
	"math"
	"slices"
	"time"

	"github.com/go-valla/valla/data/internal/fetch"
)

// taxi is the paper's data set Taxi: the price of rides in the yellow taxis of New York City.
// The paper's code takes January 2023 and divides it in order. If the folder holds several
// months, they are read one after the other.
func taxi() Set {
	return rides("tpep", Set{
		Dataset: fetch.Dataset{
			Name:  "taxi",
			Title: "Yellow taxi rides, January 2023 (New York City Taxi and Limousine Commission)",
			Files: []fetch.File{{Name: "yellow_tripdata_2023-01.parquet"}},
		},
		Folder: "taxi",
		files:  append([]string{"yellow_tripdata_[0-9][0-9][0-9][0-9]-[0-9][0-9].parquet"}, packed("taxi.csv")...),
	})
}

// taxiGreen is a small table with the same columns as Taxi: the rides of the green taxis,
// which serve the outer boroughs, in the same month.
func taxiGreen() Set {
	const file = "green_tripdata_2023-01.parquet"
	return rides("lpep", Set{
		Dataset: fetch.Dataset{
			Name:  "taxi-green",
			Title: "Green taxi rides, January 2023 (New York City Taxi and Limousine Commission)",
			Files: []fetch.File{{
				Name: file, Size: 1856865,
				SHA256: "1851c96c36f344686937654f1df392c74bbdb31c00b019bea3dfeca3780c2e94",
			}},
		},
		Folder: "taxi_proxy",
		files:  append([]string{file}, packed("green_2023-01_8feat.csv")...),
	})
}

// rideDuration is the place of the duration, in seconds, in a row.
const rideDuration = 7

// rides adds the features, the target, the filter, the split and the address that all tables of
// taxi rides share. The names of the columns with times begin with prefix.
//
// The features come from the paper's code: the start's seconds since midnight, day of the
// week (Monday is 0), day of the month and month, the zones of start and end, the distance in
// miles, and the duration in seconds. The target is the amount paid in dollars. Rides of less
// than 10 seconds or more than 5 hours are dropped. A CSV file has these nine columns, and a
// Parquet file has the commission's columns.
func rides(prefix string, s Set) Set {
	s.Source = "https://www.nyc.gov/site/tlc/about/tlc-trip-record-data.page"
	s.Licence = "NYC Open Data terms of use"
	s.Mirrors = []string{"https://d37ci6vzurychx.cloudfront.net/trip-data/"}
	zones := []string{"PULocationID", "DOLocationID", "trip_distance"}
	s.Features = slices.Concat([]string{"time_of_day", "day_of_week", "day_of_month", "month"}, zones, []string{"trip_duration"})
	s.Target = "total_amount"
	s.text.columns = append(slices.Clone(s.Features), s.Target)
	s.parquet = layout{
		columns: slices.Concat([]string{prefix + "_pickup_datetime", prefix + "_dropoff_datetime"}, zones, []string{s.Target}),
		derive:  ride,
	}
	s.drop = func(row []float64) bool { return row[rideDuration] < 10 || row[rideDuration] > 5*3600 }
	s.split = shares(0.8, 0.1)
	return s
}

// ride computes a row from the cells of a Parquet file: start and end in microseconds since
// 1970, the two zones, the distance and the amount.
func ride(cells, row []float64) error {
	const second, day = 1e6, 24 * 3600 * 1e6
	start, end := cells[0], cells[1]
	days := math.Floor(start / day)
	date := time.Unix(int64(days)*24*3600, 0).UTC()
	row[0] = (start - days*day) / second
	row[1] = float64((date.Weekday() + 6) % 7)
	row[2] = float64(date.Day())
	row[3] = float64(date.Month())
	copy(row[4:rideDuration], cells[2:5])
	row[rideDuration] = (end - start) / second
	row[rideDuration+1] = cells[5]
	return nil
}
