package law

import "slices"

// vertex is a point of a search.
type vertex struct {
	x []float64 // coordinates [D]
	f float64   // value of the function
}

// simplex is the state of a search for the minimum of a function by the method of Nelder and Mead (1965, The Computer Journal 7,
// 308–313), with the coefficients of Gao and Han (2012, Computational Optimization and Applications 51, 259–277) for D coordinates.
// It takes the steps of gonum's optimize.NelderMead, which sends every point through channels and so takes twice the time for a law.
type simplex struct {
	f        func(x []float64) float64
	vertices []vertex  // [D+1], the best first
	centre   []float64 // mean of all vertices but the worst [D]
}

const (
	firstEdge = 0.2  // length of the first edges
	enough    = 1e-4 // a smaller decrease is no progress
	patience  = 20   // steps without progress after which a search ends
	mostSteps = 400  // bound of the steps
)

// minimized returns the best point of a search from x, where f must be finite.
func minimized(f func(x []float64) float64, x []float64) vertex {
	best, s := f(x), newSimplex(f, x)
	for n, still := 0, 0; n < mostSteps && still < patience; n++ {
		if n > 0 {
			s.step()
		}
		if still++; best-s.vertices[0].f > enough {
			best, still = s.vertices[0].f, 0
		}
	}
	return s.vertices[0]
}

// newSimplex returns the simplex of x and of its neighbours in the direction of each coordinate.
func newSimplex(f func(x []float64) float64, x []float64) *simplex {
	s := &simplex{f: f, centre: make([]float64, len(x))}
	for i := range len(x) + 1 {
		at := slices.Clone(x)
		if i < len(x) {
			at[i] += firstEdge
		}
		s.vertices = append(s.vertices, vertex{at, f(at)})
	}
	s.arrange()
	return s
}

// arrange sorts the vertices and computes the centre.
func (s *simplex) arrange() {
	slices.SortStableFunc(s.vertices, func(a, b vertex) int {
		switch {
		case a.f < b.f:
			return -1
		case b.f < a.f:
			return 1
		}
		return 0
	})
	d := len(s.centre)
	clear(s.centre)
	for _, v := range s.vertices[:d] {
		for j := range v.x {
			s.centre[j] += v.x[j]
		}
	}
	for j := range s.centre {
		s.centre[j] /= float64(d)
	}
}

// step replaces the worst vertex by a better point on the line through the centre, or shrinks the simplex.
func (s *simplex) step() {
	d := len(s.centre)
	best, second, worst := s.vertices[0].f, s.vertices[d-1].f, s.vertices[d].f
	contraction := 0.75 - 1/float64(2*d)
	r := s.along(1)
	switch {
	case r.f < best:
		if e := s.along(1 + 2/float64(d)); e.f < r.f {
			r = e
		}
		s.replace(r)
	case r.f < second:
		s.replace(r)
	case r.f < worst:
		if c := s.along(contraction); c.f <= r.f {
			s.replace(c)
		} else {
			s.shrink()
		}
	default:
		if c := s.along(-contraction); c.f < worst {
			s.replace(c)
		} else {
			s.shrink()
		}
	}
}

// along returns the point that lies beyond the centre by a multiple of the distance of the worst vertex. Products are rounded before
// they are added, so that all processors find the same point.
func (s *simplex) along(by float64) vertex {
	worst, x := s.vertices[len(s.centre)].x, make([]float64, len(s.centre))
	for j, c := range s.centre {
		x[j] = float64((c-worst[j])*by) + c
	}
	return vertex{x, s.f(x)}
}

// replace puts v in the place of the worst vertex.
func (s *simplex) replace(v vertex) {
	d := len(s.centre)
	at := d
	for ; at > 0 && s.vertices[at-1].f >= v.f; at-- {
		s.vertices[at] = s.vertices[at-1]
	}
	s.vertices[at] = v
	for j, x := range s.vertices[d].x {
		s.centre[j] += float64(-1 / float64(d) * x)
	}
	for j, x := range v.x {
		s.centre[j] += float64(1 / float64(d) * x)
	}
}

// shrink draws all vertices towards the best one.
func (s *simplex) shrink() {
	best, by := s.vertices[0].x, 1-1/float64(len(s.centre))
	for i := range s.vertices[1:] {
		v := &s.vertices[1+i]
		for j, b := range best {
			v.x[j] = float64((v.x[j]-b)*by) + b
		}
		v.f = s.f(v.x)
	}
	s.arrange()
}
