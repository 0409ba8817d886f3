package data

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-valla/valla/internal/kernel"
)

// lloyd is the state of k-means. The nearest centre c of a row x is the centre with the largest
//
//	x.c - |c|^2/2 = (|x|^2 - |x-c|^2) / 2,
//
// where one matrix product gives all x.c. The difference loses digits where centres are much
// larger than their distances. They are therefore taken relative to the mean m of all rows: with
// c = m + e it is x.e - (|e|^2/2 + m.e), up to a term that is the same for all centres.
type lloyd[T kernel.Float] struct {
	x       []T // [n,d], as given
	n, d, k int // numbers of rows, of columns and of centres
	mean    []T // [d]

	total   float64   // the sum of the squared distances of the rows from their mean
	centers []T       // [k,d], relative to mean
	squares []float64 // [k], |e|^2
	levels  []T       // [k], |e|^2/2 + m.e

	label  []int     // [n], the centre of each row, or -1
	sums   []float64 // [k,d], of each centre's rows, relative to mean
	counts []int     // [k]
}

// change says that a row had another label.
type change struct {
	row, label int // numbers of the row and of its centre before
}

// newLloyd needs place or relabel and update before run.
func newLloyd[T kernel.Float](x []T, n, d, k int) *lloyd[T] {
	l := &lloyd[T]{
		x: x, n: n, d: d, k: k,
		mean: make([]T, d), centers: make([]T, k*d), squares: make([]float64, k), levels: make([]T, k),
		label: slices.Repeat([]int{-1}, n), sums: make([]float64, k*d), counts: make([]int, k),
	}
	parallel(d, n, func(from, to int) {
		sum := make([]float64, to-from)
		for i := range n {
			for j, v := range l.row(i)[from:to] {
				sum[j] += float64(v)
			}
		}
		for j, v := range sum {
			l.mean[from+j] = T(v / float64(n))
		}
	})
	squares := make([]float64, n)
	parallel(n, d, func(from, to int) {
		room := make([]T, kernel.DistanceRoom(d))
		for i := from; i < to; i++ {
			squares[i] = kernel.SquaredDistance(l.row(i), l.mean, room)
		}
	})
	l.total = floats.Sum(squares)
	return l
}

// place makes rows the centres.
func (l *lloyd[T]) place(rows []int) {
	for j, i := range rows {
		kernel.Sub(l.center(j), l.row(i), l.mean)
	}
	l.square()
}

func (l *lloyd[T]) row(i int) []T       { return l.x[i*l.d : (i+1)*l.d] }
func (l *lloyd[T]) center(j int) []T    { return l.centers[j*l.d : (j+1)*l.d] }
func (l *lloyd[T]) sum(j int) []float64 { return l.sums[j*l.d : (j+1)*l.d] }

// run iterates until one iteration lowers the inertia by no more than the fraction
// tolerance, or until the given number of iterations is done.
func (l *lloyd[T]) run(iterations int, tolerance float64) error {
	before := math.NaN() // compares false
	for range iterations {
		inertia := l.assign()
		if !kernel.Finite(inertia) {
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

// relabel gives every row a label and brings the sums and counts up to date.
func (l *lloyd[T]) relabel(label []int) {
	var changed []change
	for i, before := range l.label {
		if before != label[i] {
			changed = append(changed, change{i, before})
		}
	}
	copy(l.label, label)
	l.regroup(changed)
}

// regroup brings the sums and counts up to date with changed labels.
func (l *lloyd[T]) regroup(changed []change) {
	for _, c := range changed {
		l.counts[l.label[c.row]]++
		if c.label >= 0 {
			l.counts[c.label]--
		}
	}
	parallel(l.d, 2*len(changed), func(from, to int) {
		mean := l.mean[from:to]
		for _, c := range changed {
			x, sum := l.row(c.row)[from:to], l.sum(l.label[c.row])[from:to]
			for j, v := range x {
				sum[j] += float64(v - mean[j])
			}
			if c.label < 0 {
				continue
			}
			sum = l.sum(c.label)[from:to]
			for j, v := range x {
				sum[j] -= float64(v - mean[j])
			}
		}
	})
}

// inertia is the sum of the squared distances of the rows from their centres. For one centre
// with n rows and their sum s it is the sum of their |x|^2, less 2 s.c, plus n |c|^2.
func (l *lloyd[T]) inertia() float64 {
	inertia := l.total
	for j, count := range l.counts {
		dot := 0.0
		sum := l.sum(j)
		for i, c := range l.center(j) {
			dot += sum[i] * float64(c)
		}
		inertia += float64(count)*l.squares[j] - 2*dot
	}
	return inertia
}

// refill gives each centre without rows the row that is farthest from its own centre, and
// says whether it did so for any centre. A row that is alone with its centre stays there.
func (l *lloyd[T]) refill() bool {
	var distance []float64
	moved := false
	for j, count := range l.counts {
		if count > 0 {
			continue
		}
		if distance == nil {
			distance = l.distances()
		}
		i, ok := l.farthest(distance)
		if !ok {
			return moved // all distances are zero up to rounding
		}
		moved = true
		old := change{i, l.label[i]}
		l.label[i], distance[i] = j, 0
		l.regroup([]change{old})
	}
	return moved
}

// distances returns the squared distances of all rows from their centres.
func (l *lloyd[T]) distances() []float64 {
	out := make([]float64, l.n)
	parallel(l.n, l.d, func(from, to int) {
		x, room := make([]T, l.d), make([]T, kernel.DistanceRoom(l.d))
		for i := from; i < to; i++ {
			kernel.Sub(x, l.row(i), l.mean)
			out[i] = kernel.SquaredDistance(x, l.center(l.label[i]), room)
		}
	})
	return out
}

// farthest returns the row with the largest distance among the rows that share their centre
// with others. ok is false if no such distance is positive.
func (l *lloyd[T]) farthest(distance []float64) (row int, ok bool) {
	most := 0.0
	for i, v := range distance {
		if v > most && l.counts[l.label[i]] > 1 {
			most, row, ok = v, i, true
		}
	}
	return row, ok
}

// update moves every centre to the mean of its rows. A centre without rows stays.
func (l *lloyd[T]) update() {
	for j, count := range l.counts {
		if count == 0 {
			continue
		}
		center := l.center(j)
		for i, s := range l.sum(j) {
			center[i] = T(s / float64(count))
		}
	}
	l.square()
}

func (l *lloyd[T]) square() {
	for j := range l.squares {
		l.squares[j] = float64(kernel.Dot(l.center(j), l.center(j)))
		l.levels[j] = T(l.squares[j]/2 + float64(kernel.Dot(l.center(j), l.mean)))
	}
}

// result returns the centres [k,d] with the mean of all rows added again.
func (l *lloyd[T]) result() []float64 {
	out := make([]float64, l.k*l.d)
	for i, c := range l.centers {
		out[i] = float64(c) + float64(l.mean[i%l.d])
	}
	return out
}

// parallel calls f on parts that together cover 0...n-1, at the same time if n rows of width
// values are enough work for several threads.
func parallel(n, width int, f func(from, to int)) {
	kernel.Parallel(kernel.Parts(n, n*width, partWork), kernel.Span{N: n, F: f})
}

// partWork is how many values are worth a part of their own: some 100 microseconds of work.
const partWork = 1 << 18
