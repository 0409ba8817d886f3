package honest

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
)

var retrain = flag.Bool("train", false, "train the networks anew and write their weights to testdata")

// shared is the folder of the data sets that n needs; the test is skipped where it is
// absent.
func (n Network) shared(t testing.TB) string {
	if !n.Shared {
		return ""
	}
	return fixture.Shared(t, "data")
}

// load returns a network with its rows.
func (n Network) load(t testing.TB) (m *valla.Model, train, test *data.Set) {
	train, test, err := n.Rows(n.shared(t))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = n.Model(context.Background(), "testdata", train); err != nil {
		t.Fatal(err)
	}
	return m, train, test
}

// TestTrain writes the weights of all networks with the flag -train.
func TestTrain(t *testing.T) {
	if !*retrain {
		t.Skip("without the flag -train")
	}
	for _, n := range Networks() {
		t.Run(n.Name, func(t *testing.T) {
			train, _, err := n.Rows(n.shared(t))
			if err != nil {
				t.Fatal(err)
			}
			m, err := n.Train(context.Background(), train)
			if err != nil {
				t.Fatal(err)
			}
			if err := layers.Save(n.Path("testdata"), m.Net); err != nil {
				t.Fatal(err)
			}
			_ = filepath.Join
			n.report(t)
		})
	}
}

func (n Network) report(t *testing.T) {
	m, train, test := n.load(t)
	for _, s := range []*data.Set{train, test} {
		scores, err := m.Evaluate(context.Background(), s, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(n.Name, s.N(), scores)
	}
}

func TestReport(t *testing.T) {
	for _, n := range Networks() {
		t.Run(n.Name, func(t *testing.T) { n.report(t) })
	}
}
