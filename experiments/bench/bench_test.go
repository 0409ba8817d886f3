package bench

import "testing"

// BenchmarkRow runs our side of every row of the table, that is of all rows that the design
// asks for, on all threads.
func BenchmarkRow(b *testing.B) {
	for _, c := range benchmarks {
		for _, dt := range c.dtypes {
			b.Run(c.name+"/"+dt.String(), func(b *testing.B) {
				w, err := c.new(dt)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := w.step(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if w.bytes > 0 {
					b.ReportMetric(float64(w.bytes)/1e6, "MB")
				}
			})
		}
	}
}
