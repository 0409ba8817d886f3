package tabular

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// songs is text of Year's form; the real file has numbers of the same lengths.
func songs(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 0))
	var b bytes.Buffer
	for range n {
		fmt.Fprint(&b, 1922+rng.IntN(90))
		for range 90 {
			fmt.Fprintf(&b, ",%.5f", 100*rng.NormFloat64())
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func benchmark(b *testing.B, s Set, name string, content []byte) {
	path := filepath.Join(b.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := s.open([]string{path}); err != nil {
			b.Fatal(err)
		}
	}
}

// One twentieth of Year.
func BenchmarkYear(b *testing.B) {
	s := year()
	s.rows, s.split = 25000, shares(0.8, 0.1)
	benchmark(b, s, "YearPredictionMSD.txt", songs(s.rows))
}

func BenchmarkAirline(b *testing.B) {
	s := airline()
	s.most, s.split = 50000, shares(0.8, 0.1)
	rng := rand.New(rand.NewPCG(1, 0))
	text := bytes.NewBufferString(flightHeader)
	for range s.most {
		fmt.Fprintf(text, "2008,%d,%d,%d,%d,%d,%d,%d,%d,AA,%d\n", 100*rng.IntN(24)+rng.IntN(60), 100*rng.IntN(24)+rng.IntN(60),
			1+rng.IntN(4), 1+rng.IntN(31), 1+rng.IntN(7), rng.IntN(30), rng.IntN(400), rng.IntN(3000), rng.IntN(200)-60)
	}
	benchmark(b, s, "airline.csv", text.Bytes())
}

func BenchmarkTaxi(b *testing.B) {
	rides := make([]rideRow, 100000)
	for i := range rides {
		rides[i] = aRide(i)
	}
	benchmark(b, taxi(), "yellow_tripdata_2023-01.parquet", written(b, 1<<30, rides...))
}
