package tabular

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data/internal/fetch"
)

// airline is the paper's data set Airline: the delays of flights in the United States from
// January to April 2008. The paper's code takes the first 800,000 rows. The first 600,000 of
// them are for training, the next 100,000 for validation and the others for testing.
func airline() Set {
	return flights(Set{
		Dataset: fetch.Dataset{
			Name:    "airline",
			Title:   "Airline delays (Hensman, Fusi and Lawrence 2013)",
			Source:  "https://github.com/Ludvins/Variational-LLA",
			Licence: "none stated; made from public data of the US Department of Transportation",
			Mirrors: []string{
				"https://media.githubusercontent.com/media/Ludvins/Variational-LLA/main/data/",
				"https://github.com/Ludvins/Variational-LLA/raw/main/data/",
			},
			Manual: "put data/airline.csv of a clone (with Git LFS) of the paper's repository there, or any CSV of these columns and more than 700000 rows",
			Files: []fetch.File{{
				Name: "airline.csv", Size: 108613544,
				// as the repository's LFS pointer gives it
				SHA256: "9bb7e735c14bad898f06af5bef6baa4f2253b6e43f426d981f95d7f4318aacae",
			}},
		},
		Folder: "airline",
		files:  packed("airline.csv"),
		most:   800000,
		split:  counts(600000, 100000),
	})
}

// nycFlights is a public table of the same form as Airline: the flights from New York City
// in 2013 of R's package nycflights13, without those that lack a value. The file is ordered
// by date, so its rows are shuffled. The rows are divided 80:10:10, like the rows of Taxi.
func nycFlights() Set {
	return flights(Set{
		Dataset: fetch.Dataset{
			Name:    "airline-nycflights13",
			Title:   "Flights from New York City, 2013 (Wickham, R package nycflights13)",
			Source:  "https://cran.r-project.org/package=nycflights13",
			Licence: "CC0",
			Manual: "put nycflights13_8feat.csv.gz there, made of the tables flights and planes: " +
				"Month, DayofMonth, DayOfWeek, plane_age, AirTime, Distance, ArrTime, DepTime, ArrDelay of the flights that have all of them",
			Files: []fetch.File{{Name: "nycflights13_8feat.csv.gz"}},
		},
		Folder:   "airline_proxy",
		files:    packed("nycflights13_8feat.csv"),
		rows:     273853,
		shuffled: true,
		split:    shares(0.8, 0.1),
	})
}

// flights adds the features and the target that all tables of flights share: the paper's
// features of a flight, in the order of its code, and the delay in minutes.
func flights(s Set) Set {
	s.Features = []string{"Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime"}
	s.Target = "ArrDelay"
	s.text = layout{columns: append(slices.Clone(s.Features), s.Target), derive: flight}
	return s
}

// flight computes a row from the cells and turns the two times of day into minutes.
func flight(cells, row []float64) error {
	copy(row, cells)
	for i, name := range []string{"ArrTime", "DepTime"} {
		time, ok := &row[6+i], false
		if *time, ok = minutes(*time); !ok {
			return fmt.Errorf("column %q: expected a time of day hhmm of 0000 to 2400, found %g", name, cells[6+i])
		}
	}
	return nil
}

// minutes returns the minutes since midnight of a time written hhmm; 2400 is the
// midnight at the end of the day.
func minutes(hhmm float64) (float64, bool) {
	hours, rest := math.Floor(hhmm/100), math.Mod(hhmm, 100)
	ok := hhmm >= 0 && hhmm <= 2400 && rest < 60 && hhmm == math.Trunc(hhmm)
	return 60*hours + rest, ok
}
