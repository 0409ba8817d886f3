package valla

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
)

// shareSeen returns what a model, written to a file and loaded, says of rows.
func shareSeen(t *testing.T, m *Model, sets ...*data.Set) float64 {
	t.Helper()
	s := loaded(t, written(t, m)).Seen()
	for _, set := range sets {
		s.Add(set)
	}
	return s.Share()
}

// TestSeen: the rows of the training are found in another order, in batches and among other rows; new rows are not.
func TestSeen(t *testing.T) {
	o := quickTrain()
	o.Training.Validation = new(0.0)
	set := wave(1500, 1)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if share := shareSeen(t, m, set.Rows(holdout.Rand(1, 1).Perm(1500))); share != 1 {
		t.Errorf("a share %g of the rows of the training", share)
	}
	if share := shareSeen(t, m, wave(1500, 2)); share != 0 {
		t.Errorf("a share %g of new rows", share)
	}
	if share := shareSeen(t, m, set.Rows(dense.Indices(700)), wave(1400, 3)); math.Abs(share-1.0/3) > 0.12 {
		t.Errorf("a share %g of 700 old and 1,400 new rows", share)
	}
	elsewhere := *m
	elsewhere.History = nil
	if s := elsewhere.Seen(); s.Share() != 0 {
		t.Errorf("a share %g without a history", s.Share())
	}
	moved := set.Rows(dense.Indices(1500))
	moved.Y.Float64s()[0]++
	if a, b := rowHashes(set), rowHashes(moved); a[0] == b[0] || a[1] != b[1] {
		t.Errorf("hashes %v and %v of rows of which the first differs", a[:2], b[:2])
	}
}

// TestRowsAgain: an update and a calibration note rows that the model has seen, and do not note new ones.
func TestRowsAgain(t *testing.T) {
	m, _ := trained(t)
	set := wave(300, 7)
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Validation: new(0.0)})
	more, err := f.Update(t.Context(), wave(300, 8), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m    *Model
		rows *data.Set
		want string
	}{
		"an update by the fit's rows": {f, set, "counts twice"}, "an update by new rows": {f, wave(300, 9), ""}, "the same update again": {more, wave(300, 8), "counts twice"},
	} {
		again, err := c.m.Update(t.Context(), c.rows, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(again.History[len(again.History)-1].Notes, " "); strings.Contains(notes, "About 100 %") != (c.want != "") || !strings.Contains(notes, c.want) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	for _, rows := range []*data.Set{set.Rows(dense.Indices(200)), wave(300, 10)} {
		c, err := f.Calibrate(t.Context(), rows, CalibrateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(c.History[len(c.History)-1].Notes, " "); strings.Contains(notes, "worth nothing") != (rows.N() == 200) {
			t.Errorf("%d rows: notes %q", rows.N(), notes)
		}
	}
}

// TestSeenByFit: the rows of a fit are found although the training used others.
func TestSeenByFit(t *testing.T) {
	m, _ := trained(t)
	set := wave(300, 7)
	f := fit(t, m, set, FitOptions{Settings: quickFit(), Validation: new(0.0)})
	if share := shareSeen(t, f, set); share != 1 {
		t.Errorf("a share %g of the rows of the fit", share)
	}
}

// TestHashesStay: model files hold hashes of rows, so that the hash of a row stays.
func TestHashesStay(t *testing.T) {
	set := &data.Set{X: denseOf([]float64{1, -0.5, 2, 1e300}, 2, 2), Y: denseOf([]float64{3, 0}, 2, 1)}
	if got := rowHashes(set); !slices.Equal(got, []uint64{2105887339447736, 7509143765835385}) {
		t.Errorf("%v", got)
	}
}
