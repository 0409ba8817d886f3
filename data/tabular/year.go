package tabular

import (
	"slices"
	"strconv"

	"github.com/go-valla/valla/data/fetch"
)

// year is the paper's Year: the year of a song from 12 means and 78 covariances of
// its timbre. The file has no header; each line is the year and then the features.
// The paper's code divides it in order: 400,000, 63,715 and 51,630 rows.
func year() Set {
	features := slices.Concat(series("TimbreAvg", 12), series("TimbreCovariance", 78))
	s := Set{
		Name:     "year",
		Title:    "Year prediction, Million Song Dataset (Bertin-Mahieux, Ellis, Whitman and Lamere 2011)",
		Folder:   "year",
		Features: features,
		Target:   "Year",
		files:    append(packed("YearPredictionMSD.txt"), "yearpredictionmsd.zip"),
		csv:      layout{bare: true, fields: numbers(append([]string{"Year"}, features...)...), derive: lastFirst},
		rows:     515345,
		split:    counts(400000, 63715),
	}
	s.Download = fetch.Dataset{
		Name:    s.Name,
		Title:   s.Title,
		Source:  "https://archive.ics.uci.edu/dataset/203/yearpredictionmsd",
		Licence: "CC BY 4.0",
		Mirrors: []string{"https://archive.ics.uci.edu/static/public/203/"},
		Files:   []fetch.File{{Name: "yearpredictionmsd.zip", Check: s.check(false)}},
		Or:      s.whole,
	}
	return s
}

// series returns the names name1, name2, ..., namen.
func series(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// lastFirst makes a row of cells that begin with the target.
func lastFirst(cells, row []float64) {
	copy(row, cells[1:])
	row[len(row)-1] = cells[0]
}
