package internal_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// TestHouses: the tables of the documents are what this makes. The houses are made up: their
// prices scatter more where they are large.
func TestHouses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, f := range []struct {
		name string
		rows int
	}{{"houses", 600}, {"houses-test", 200}, {"houses-held", 150}} {
		path, table := "../docs/data/"+f.name+".csv", bytes.NewBufferString("city,rooms,area,age,price\n")
		for range f.rows {
			house(table, rng)
		}
		if *update {
			if err := os.WriteFile(path, table.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(there, table.Bytes()) {
			t.Errorf("%s is not what this test makes (error %v); go test ./internal -run Houses -update writes it", path, err)
		}
	}
}

// house writes a row: prices are in thousands.
func house(w *bytes.Buffer, rng *rand.Rand) {
	city := rng.IntN(3)
	area := math.Exp(4.4 + 0.4*rng.NormFloat64())
	rooms := max(1, math.Round(area/25+0.7*rng.NormFloat64()))
	age := 100 * rng.Float64()
	wear := 1 - 0.4*math.Pow(math.Sin(age/32), 2)
	price := []float64{1.2, 1, 0.8}[city] * (40 + 2.6*area + 8*rooms) * wear * math.Exp((0.05+0.0007*area)*rng.NormFloat64())
	fmt.Fprintf(w, "%s,%g,%.1f,%.0f,%.1f\n", []string{"Bonn", "Cork", "Turin"}[city], rooms, area, age, price)
}
