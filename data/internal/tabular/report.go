package tabular

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A Report says which files and rows [Set.Open] has read.
type Report struct {
	Name    string        // of the set
	Files   []string      // paths, in the order of reading
	Bytes   int64         // bytes of decompressed text and of Parquet files
	Rows    int           // the number of rows that were read
	Kept    int           // the number of rows that no filter dropped
	Dropped []Dropped     // one for each filter; a row counts for the first that drops it
	Elapsed time.Duration // time that reading took
}

// Dropped says how many rows a filter dropped.
type Dropped struct {
	Filter string // name of the filter
	Rows   int    // number of rows that the filter dropped
}

func newReport(s Set, paths []string) *Report {
	r := &Report{Name: s.Name, Files: paths, Dropped: make([]Dropped, len(s.filters))}
	for i, f := range s.filters {
		r.Dropped[i].Filter = f.name
	}
	return r
}

// Speed returns the bytes read per second, in MB (10⁶ bytes).
func (r *Report) Speed() float64 {
	return float64(r.Bytes) / 1e6 / max(r.Elapsed.Seconds(), 1e-9)
}

// String returns the report in one line.
func (r *Report) String() string {
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		names[i] = filepath.Base(f)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rows of %s read (%.1f MB, %.0f MB/s), %d kept",
		r.Name, r.Rows, strings.Join(names, ", "), float64(r.Bytes)/1e6, r.Speed(), r.Kept)
	for _, d := range r.Dropped {
		fmt.Fprintf(&b, "; %d dropped: %s", d.Rows, d.Filter)
	}
	return b.String()
}
