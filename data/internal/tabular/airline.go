package tabular

import (
	"math"
	"slices"

	"github.com/go-valla/valla/data/internal/fetch"
)

// flightFeatures are the paper's features of a flight, in the order of its code.
func flightFeatures() []string {
	return []string{"Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime"}
}

const arrivalDelay = "ArrDelay" // in minutes

// airline is the paper's data set Airline: the delays of flights in the United States from
// January to April 2008. The paper's code takes the first 800,000 rows. The first 600,000 of
// them are for training, the next 100,000 for validation and the others for testing.
func airline() Set {
	s := flights(Set{
		Name:   "airline",
		Title:  "Airline delays (Hensman, Fusi and Lawrence 2013)",
		Folder: "airline",
		files:  packed("airline.csv"),
		most:   800000,
		split:  counts(600000, 100000),
	})
	s.Download = fetch.Dataset{
		Name:    s.Name,
		Title:   s.Title,
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
		Or: s.whole,
	}
	return s
}

// flights adds the features, the target and the filters that all tables of flights share.
func flights(s Set) Set {
	s.Features, s.Target = flightFeatures(), arrivalDelay
	s.csv.fields = numbers(append(flightFeatures(), arrivalDelay)...)
	for _, name := range []string{"ArrTime", "DepTime"} {
		f := &s.csv.fields[slices.Index(s.Features, name)]
		f.expected, f.convert = "a time of day hhmm of 0000 to 2400", minutes
	}
	return s
}

// minutes returns the minutes since midnight of a time written hhmm; 2400 is the
// midnight at the end of the day.
func minutes(hhmm float64) (float64, bool) {
	hours, rest := math.Floor(hhmm/100), math.Mod(hhmm, 100)
	ok := hhmm >= 0 && hhmm <= 2400 && rest < 60 && hhmm == math.Trunc(hhmm)
	return 60*hours + rest, ok
}
