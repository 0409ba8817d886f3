package honest

import (
	"context"
	"flag"
	"testing"

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

// open returns a network with its rows.
func open(t testing.TB, n Network) *Case {
	t.Helper()
	c, err := n.Open(context.Background(), "testdata", n.shared(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
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
		})
	}
}
