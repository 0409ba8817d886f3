package tabular

import (
	"errors"
	"fmt"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
)

// A layout describes the content of a kind of file, and how its cells become a row.
type layout struct {
	columns []string // the columns that are needed
	bare    bool     // says that the text has no header, and has these columns alone
	// derive computes a row, which is the features and then the target, from the cells of the
	// columns. If it is nil the cells are the row.
	derive func(cells, row []float64) error
}

// use makes s read the columns of the layout.
func (l layout) use(s *data.Stream) error {
	if l.bare {
		if len(s.Columns) != len(l.columns) {
			return fmt.Errorf("%s: expected %d columns, found %d", s.Path, len(l.columns), len(s.Columns))
		}
		s.Columns = l.columns
	}
	at := make([]int, len(l.columns))
	for i, name := range l.columns {
		var err error
		if at[i], err = s.Column(name); err != nil {
			return err
		}
	}
	s.Use(at, nil)
	return nil
}

// cells returns the cells of t [N,K] as numbers.
func (l layout) cells(t *data.Table) ([]float64, error) {
	if len(t.Notes) > 0 {
		return nil, errors.New(t.Notes[0])
	}
	if t.Words == nil {
		return t.Values.Float64s(), nil
	}
	_, err := t.Numbers(dense.Indices(len(l.columns)))
	return nil, err
}
