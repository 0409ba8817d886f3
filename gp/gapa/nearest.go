package gapa

import (
	"cmp"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

const (
	// searchRows and searchPoints are how many points, and how many others, a thread
	// compares at a time.
	searchRows, searchPoints = 32, 2048
	// spare is how many more points than are asked for, but at most as many more, come from
	// the comparison in the element type, whose rounding may put the last ones in the wrong
	// order.
	spare = 8
)

// index holds M points of d numbers each, among which the nearest to others are found.
type index struct {
	z     *tensor.Dense // [M,d]
	norms []float64     // ‖z‖² [M]
	m, d  int           // the number of points, and of the numbers of each
}

func newIndex(z *tensor.Dense) *index {
	x := &index{z: z, m: z.Shape()[0], d: z.Shape()[1]}
	v := make([]float64, x.d)
	for i := range x.m {
		x.norms = append(x.norms, kernel.Dot(x.row(v, i), v))
	}
	return x
}

// row writes point i to dst, and returns it.
func (x *index) row(dst []float64, i int) []float64 {
	dense.Copy(dst, x.z, i*x.d)
	return dst
}

// neighbour is a point and its distance, a number that grows with it.
type neighbour struct {
	at   int     // number of the point
	away float64 // squared distance, or the distance up to a number that all points share
}

// nearer orders neighbours by distance, and neighbours at equal distances by number.
func nearer(a, b neighbour) int { return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.at, b.at)) }

// search finds, on that many threads at most, the k points that are nearest to the first n
// rows of u [·,d], and gives them to visit, nearest first, with their squared distances. Row i
// may not find the point skip(i). visit runs on several threads; part numbers these. It may
// not keep what was found.
func (x *index) search(threads int, u *tensor.Dense, n, k int, skip func(i int) int, visit func(part, i int, found []neighbour)) {
	job := &searchJob{index: x, u: u, n: n, k: min(k, x.m), skip: skip, visit: visit, finders: make([]finder, threads)}
	kernel.Parallel(job.parts(), job)
}

// searchJob is the kernel.Job of a search.
type searchJob struct {
	*index                                      // the points that are searched
	u      *tensor.Dense                        // rows that get neighbours [·,d]
	n, k   int                                  // number of rows of u, and of neighbours of each
	skip   func(i int) int                      // the point that row i may not find; −1: none
	visit  func(part, i int, found []neighbour) // gets the neighbours of row i, nearest first

	finders []finder // of each thread
}

// finder is what a thread of a search computes in, kept between searches.
type finder struct {
	lists   []nearestList // the nearest points of each row of a block
	product room          // inner products of rows and points
	u, z    []float64     // [d]
}

// room keeps numbers of either type.
type room struct {
	wide   []float64 // of float64
	narrow []float32 // of float32
}

// numbers returns n numbers in a room, which are undefined.
func numbers[T kernel.Float](r *room, n int) []T {
	p, ok := any(&r.wide).(*[]T)
	if !ok {
		p, _ = any(&r.narrow).(*[]T)
	}
	*p = slices.Grow((*p)[:0], n)[:n]
	return *p
}

func (s *searchJob) parts() int { return min(len(s.finders), (s.n+searchRows-1)/searchRows) }

// Run implements kernel.Job: blocks of rows in turn.
func (s *searchJob) Run(part, parts int) {
	for first := part * searchRows; first < s.n; first += parts * searchRows {
		rows := min(searchRows, s.n-first)
		f, lists := &s.finders[part], []nearestList(nil)
		if s.u.Dtype() == tensor.Float64 {
			lists = compare(s, f, s.u.Float64s(), s.z.Float64s(), first, rows)
		} else {
			lists = compare(s, f, s.u.Float32s(), s.z.Float32s(), first, rows)
		}
		for i, l := range lists {
			s.visit(part, first+i, s.settle(f, first+i, l.found))
		}
	}
}

// compare returns the nearest points of some rows of u by ‖z‖² − 2 u·z, which differs from
// the squared distance by a number that all points share.
func compare[T kernel.Float](s *searchJob, f *finder, u, z []T, first, rows int) []nearestList {
	for len(f.lists) < rows {
		f.lists = append(f.lists, nearestList{})
	}
	d, lists := s.d, f.lists[:rows]
	for i := range lists {
		lists[i] = nearestList{found: lists[i].found[:0], most: s.k + min(s.k, spare), skip: s.skip(first + i)}
	}
	product := numbers[T](&f.product, rows*min(searchPoints, s.m))
	for from := 0; from < s.m; from += searchPoints {
		n := min(searchPoints, s.m-from)
		kernel.Gemm(false, true, rows, n, d, -2, u[first*d:], d, z[from*d:], d, 0, product, n)
		for i := range lists {
			for j, v := range product[i*n : (i+1)*n] {
				lists[i].offer(neighbour{from + j, float64(v) + s.norms[from+j]})
			}
		}
	}
	return lists
}

// settle computes the squared distances of neighbours in float64, and returns the nearest in
// order.
func (s *searchJob) settle(f *finder, i int, found []neighbour) []neighbour {
	if f.u == nil {
		f.u, f.z = make([]float64, s.d), make([]float64, s.d)
	}
	u, z := f.u, f.z
	dense.Copy(u, s.u, i*s.d)
	for j, p := range found {
		kernel.Sub(z, s.row(z, p.at), u)
		found[j].away = kernel.Dot(z, z)
	}
	slices.SortFunc(found, nearer)
	return found[:min(s.k, len(found))]
}

// nearestList keeps the nearest of many points, in a heap with the farthest at its top.
type nearestList struct {
	found      []neighbour // the nearest points so far, a heap
	most, skip int         // largest number of points, and the point that is left out
}

func (l *nearestList) offer(p neighbour) {
	switch {
	case len(l.found) == l.most && p.away >= l.found[0].away || p.at == l.skip:
	case len(l.found) < l.most:
		l.found = append(l.found, p)
		for i := len(l.found) - 1; i > 0 && nearer(l.found[i], l.found[(i-1)/2]) > 0; i = (i - 1) / 2 {
			l.found[i], l.found[(i-1)/2] = l.found[(i-1)/2], l.found[i]
		}
	default:
		l.found[0] = p
		l.sink()
	}
}

// sink restores the heap after its top was replaced.
func (l *nearestList) sink() {
	for i := 0; ; {
		largest := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(l.found) && nearer(l.found[child], l.found[largest]) > 0 {
				largest = child
			}
		}
		if largest == i {
			return
		}
		l.found[i], l.found[largest] = l.found[largest], l.found[i]
		i = largest
	}
}

// append32 appends the first n rows of t in float32.
func append32(dst []float32, t *tensor.Dense, n int) []float32 {
	size := n * (t.Shape().TotalSize() / t.Shape()[0])
	if t.Dtype() == tensor.Float32 {
		return append(dst, t.Float32s()[:size]...)
	}
	for _, v := range t.Float64s()[:size] {
		dst = append(dst, float32(v))
	}
	return dst
}
