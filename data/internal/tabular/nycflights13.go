package tabular

import "github.com/go-valla/valla/data/internal/fetch"

// nycFlights is a public table of the same form as Airline: the flights from New York City
// in 2013 of R's package nycflights13, without those that lack a value. The file is ordered
// by date, so its rows are shuffled. The rows are divided 80:10:10, like the rows of Taxi.
func nycFlights() Set {
	s := flights(Set{
		Name:     "airline-nycflights13",
		Title:    "Flights from New York City, 2013 (Wickham, R package nycflights13)",
		Folder:   "airline_proxy",
		files:    packed("nycflights13_8feat.csv"),
		rows:     273853,
		shuffled: true,
		split:    shares(0.8, 0.1),
	})
	s.Download = fetch.Dataset{
		Name:    s.Name,
		Title:   s.Title,
		Source:  "https://cran.r-project.org/package=nycflights13",
		Licence: "CC0",
		Manual: "put nycflights13_8feat.csv.gz there, made of the tables flights and planes: " +
			"Month, DayofMonth, DayOfWeek, plane_age, AirTime, Distance, ArrTime, DepTime, ArrDelay of the flights that have all of them",
		Files: []fetch.File{{Name: "nycflights13_8feat.csv.gz", Check: s.check(false)}},
		Or:    s.whole,
	}
	return s
}
