package data

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/go-valla/valla/internal/kernel"
)

// blockRows is the number of rows whose distances are computed at a time: large
// enough for a fast matrix product, small enough for the cache.
const blockRows = 512

// lloyd is the state of k-means. The squared distance of a row x from a centre c is
//
//	|x-c|^2 = |x|^2 - 2 x.c + |c|^2,
//
// where one matrix product gives all x.c. The sum loses digits where |x| is much larger than
// the distances. Rows and centres are therefore taken relative to the mean of all rows.
type lloyd struct {
	x       []float64 // [n,d], as given
	n, d, k int
	mean    []float64 // [d]

	centers []float64 // [k,d], relative to mean
	squares []float64 // [k], |c|^2

	label    []int     // [n], the centre of each row
	distance []float64 // [n], squared, to that centre
	sums     []float64 // [k,d], of each centre's rows, relative to mean
	counts   []int     // [k]

	block    []float64 // [blockRows,d], rows relative to mean
	products []float64 // [blockRows,k], x.c
}

// newLloyd starts from the rows numbered start as centres.
func newLloyd(x []float64, n, d int, start []int) *lloyd {
	k := len(start)
	l := &lloyd{
		x: x, n: n, d: d, k: k,
		mean:    make([]float64, d),
		centers: make([]float64, k*d), squares: make([]float64, k),
		label: make([]int, n), distance: make([]float64, n),
		sums: make([]float64, k*d), counts: make([]int, k),
		block: make([]float64, min(n, blockRows)*d), products: make([]float64, min(n, blockRows)*k),
	}
	for i := range n {
		floats.Add(l.mean, l.row(i))
	}
	floats.Scale(1/float64(n), l.mean)
	for j, i := range start {
		floats.SubTo(l.center(j), l.row(i), l.mean)
	}
	l.square()
	return l
}

func (l *lloyd) row(i int) []float64    { return l.x[i*l.d : (i+1)*l.d] }
func (l *lloyd) center(j int) []float64 { return l.centers[j*l.d : (j+1)*l.d] }
func (l *lloyd) sum(j int) []float64    { return l.sums[j*l.d : (j+1)*l.d] }

// run iterates until one iteration lowers the inertia by no more than the fraction
// tolerance, or until the given number of iterations is done.
func (l *lloyd) run(iterations int, tolerance float64) error {
	before := math.NaN() // compares false
	for range iterations {
		inertia := l.assign()
		if !finite(inertia) {
			return fmt.Errorf("k-means: sum of squared distances %g, expected finite values of moderate size", inertia)
		}
		moved := l.refill()
		l.update()
		if !moved && before-inertia <= tolerance*before {
			return nil
		}
		before = inertia
	}
	return nil
}

// assign gives every row to its nearest centre, and to the first of several nearest ones. It
// sums up the rows of each centre and returns the inertia, which is the sum of the squared
// distances.
func (l *lloyd) assign() float64 {
	clear(l.sums)
	clear(l.counts)
	for start := 0; start < l.n; start += blockRows {
		rows := min(blockRows, l.n-start)
		for i := range rows {
			floats.SubTo(l.block[i*l.d:(i+1)*l.d], l.row(start+i), l.mean)
		}
		kernel.Gemm(false, true, rows, l.k, l.d, 1, l.block, l.d, l.centers, l.d, 0, l.products, l.k)
		for i := range rows {
			l.nearest(start+i, l.block[i*l.d:(i+1)*l.d], l.products[i*l.k:(i+1)*l.k])
		}
	}
	return floats.Sum(l.distance)
}

// nearest assigns row i to its nearest centre. x is the row relative to the mean, and
// products are its inner products with the centres.
func (l *lloyd) nearest(i int, x, products []float64) {
	best, at := math.Inf(1), 0
	for j, p := range products {
		if v := l.squares[j] - 2*p; v < best {
			best, at = v, j
		}
	}
	l.label[i] = at
	l.distance[i] = max(floats.Dot(x, x)+best, 0) // rounding may fall below 0
	l.counts[at]++
	floats.Add(l.sum(at), x)
}

// refill gives each centre without rows the row that is farthest from its own centre, and
// says whether it did so for any centre. A row that is alone with its centre stays there.
func (l *lloyd) refill() bool {
	moved := false
	for j, count := range l.counts {
		if count > 0 {
			continue
		}
		i, ok := l.farthest()
		if !ok {
			return moved // all distances are zero up to rounding
		}
		moved = true
		x := floats.SubTo(l.block[:l.d], l.row(i), l.mean)
		floats.Sub(l.sum(l.label[i]), x)
		l.counts[l.label[i]]--
		copy(l.sum(j), x)
		l.counts[j], l.label[i], l.distance[i] = 1, j, 0
	}
	return moved
}

// farthest returns the row with the largest distance among the rows that share their centre
// with others. ok is false if no such distance is positive.
func (l *lloyd) farthest() (row int, ok bool) {
	most := 0.0
	for i, v := range l.distance {
		if v > most && l.counts[l.label[i]] > 1 {
			most, row, ok = v, i, true
		}
	}
	return row, ok
}

// update moves every centre to the mean of its rows. A centre without rows stays.
func (l *lloyd) update() {
	for j, count := range l.counts {
		if count > 0 {
			floats.ScaleTo(l.center(j), 1/float64(count), l.sum(j))
		}
	}
	l.square()
}

func (l *lloyd) square() {
	for j := range l.squares {
		l.squares[j] = floats.Dot(l.center(j), l.center(j))
	}
}

// result returns the centres [k,d] with the mean of all rows added again.
func (l *lloyd) result() []float64 {
	out := make([]float64, l.k*l.d)
	for j := range l.k {
		floats.AddTo(out[j*l.d:(j+1)*l.d], l.center(j), l.mean)
	}
	return out
}

// parallel calls f on parts that together cover 0...n-1. It makes the calls at the same time
// if n rows of width values are enough work for several goroutines.
func parallel(n, width int, f func(from, to int)) {
	const worth = 1 << 20 // values; about a millisecond of work
	parts := min(runtime.GOMAXPROCS(0), n*width/worth)
	if parts < 2 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { f(p*n/parts, (p+1)*n/parts) })
	}
	wg.Wait()
}
