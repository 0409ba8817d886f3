package tabular

import (
	"slices"
	"strconv"

	"github.com/go-valla/valla/data/internal/fetch"
)

// year is the paper's data set Year. Its target is the year of a song; its features are 12
// means and 78 covariances of the song's timbre. The file has no header, and each line is the
// year and then the features. The paper's code divides it in order: 400,000 rows are for
// training, 63,715 for validation and 51,630 for testing.
func year() Set {
	features := slices.Concat(series("TimbreAvg", 12), series("TimbreCovariance", 78))
	return Set{
		Dataset: fetch.Dataset{
			Name:    "year",
			Title:   "Year prediction, Million Song Dataset (Bertin-Mahieux, Ellis, Whitman and Lamere 2011)",
			Source:  "https://archive.ics.uci.edu/dataset/203/yearpredictionmsd",
			Licence: "CC BY 4.0",
			Mirrors: []string{"https://archive.ics.uci.edu/static/public/203/"},
			Files:   []fetch.File{{Name: "yearpredictionmsd.zip"}},
		},
		Folder:   "year",
		Features: features,
		Target:   "Year",
		files:    append(packed("YearPredictionMSD.txt"), "yearpredictionmsd.zip"),
		text:     layout{columns: append([]string{"Year"}, features...), bare: true, derive: lastFirst},
		rows:     515345,
		split:    counts(400000, 63715),
	}
}

// series returns the names name1, name2, ..., namen.
func series(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// lastFirst makes a row from cells that begin with the target, which it moves to the end.
func lastFirst(cells, row []float64) error {
	copy(row, cells[1:])
	row[len(row)-1] = cells[0]
	return nil
}
