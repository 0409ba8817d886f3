package graph_test

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph/graphtest"
)

// matrixCases: all transpose flags, non-square, single rows and stacks.
func matrixCases() []graphtest.Case {
	var cases []graphtest.Case
	for _, dims := range [][4]int{{1, 3, 4, 2}, {1, 1, 1, 1}, {1, 1, 5, 3}, {3, 2, 4, 3}} {
		for flags := range 4 {
			cases = append(cases, matMulCase(dims, flags&1 != 0, flags&2 != 0))
		}
	}
	for _, dims := range [][3]int{{1, 3, 2}, {1, 1, 4}, {2, 3, 5}} {
		cases = append(cases, gramCase(dims))
	}
	return cases
}

func matMulCase(dims [4]int, ta, tb bool) graphtest.Case {
	s, m, k, n := dims[0], dims[1], dims[2], dims[3]
	shape := func(rows, cols int, trans bool) []int {
		if trans {
			rows, cols = cols, rows
		}
		if s == 1 {
			return []int{rows, cols}
		}
		return []int{s, rows, cols}
	}
	return graphtest.Case{
		Name:   fmt.Sprintf("matmul %v %t %t", dims, ta, tb),
		Shapes: [][]int{shape(m, k, ta), shape(k, n, tb)},
		Build:  func(b *builder, in []*node) *node { return b.MatMul(in[0], in[1], ta, tb) },
		Naive: func(in arrays) []float64 {
			var out []float64
			for i := range s {
				out = append(out, naiveMatMul(in[0][i*m*k:], in[1][i*k*n:], m, k, n, ta, tb)...)
			}
			return out
		},
	}
}

func naiveMatMul(a, c []float64, m, k, n int, ta, tb bool) []float64 {
	at := func(v []float64, i, j, rows, cols int, trans bool) float64 {
		if trans {
			return v[j*rows+i]
		}
		return v[i*cols+j]
	}
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				out[i*n+j] += at(a, i, l, m, k, ta) * at(c, l, j, k, n, tb)
			}
		}
	}
	return out
}

func gramCase(dims [3]int) graphtest.Case {
	s, n, k := dims[0], dims[1], dims[2]
	shape := []int{s, n, k}
	if s == 1 {
		shape = shape[1:]
	}
	return graphtest.Case{
		Name: fmt.Sprint("gram ", dims), Shapes: [][]int{shape},
		Build: func(b *builder, in []*node) *node { return b.Gram(in[0]) },
		Naive: func(in arrays) []float64 {
			var out []float64
			for i := range s {
				a := in[0][i*n*k : (i+1)*n*k]
				out = append(out, naiveMatMul(a, a, n, k, n, false, true)...)
			}
			return out
		},
	}
}

// factorCases: Cholesky, solves, log-determinant, diagonals and triangles. Inputs
// of Cholesky are made symmetric inside Build, since it reads one triangle only.
func factorCases() []graphtest.Case {
	spd := func(b *builder, x *node) *node { return b.Add(b.Gram(x), b.Eye(x.Shape()[0])) }
	naiveSPD := func(x []float64, n, k int) []float64 {
		a := naiveMatMul(x, x, n, k, n, false, true)
		for i := range n {
			a[i*n+i]++
		}
		return a
	}
	lower := func(in arrays) {
		n := int(math.Sqrt(float64(len(in[0]))))
		for i := range n {
			for j := i + 1; j < n; j++ {
				in[0][i*n+j] = 0
			}
			in[0][i*n+i] = 1.5 + math.Abs(in[0][i*n+i])
		}
	}
	var cases []graphtest.Case
	for _, n := range []int{1, 2, 5} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprint("cholesky ", n), Shapes: [][]int{{n, 3}}, NoONNX: true,
			Build: func(b *builder, in []*node) *node { return b.Cholesky(spd(b, in[0])) },
			Naive: func(in arrays) []float64 { return naiveCholesky(naiveSPD(in[0], n, 3), n) },
		}, graphtest.Case{
			Name: fmt.Sprint("log det ", n), Shapes: [][]int{{n, 3}}, NoONNX: true,
			Build: func(b *builder, in []*node) *node { return b.LogDet(b.Cholesky(spd(b, in[0]))) },
			Naive: func(in arrays) []float64 {
				s := 0.0
				for i, r := 0, naiveCholesky(naiveSPD(in[0], n, 3), n); i < n; i++ {
					s += 2 * math.Log(r[i*n+i])
				}
				return []float64{s}
			},
		})
		for _, trans := range []bool{false, true} {
			cases = append(cases, graphtest.Case{
				Name: fmt.Sprint("solve lower ", n, trans), Shapes: [][]int{{n, n}, {n, 2}}, Prepare: lower, NoONNX: true,
				Build: func(b *builder, in []*node) *node { return b.SolveLower(b.Lower(b.PackLower(in[0])), in[1], trans) },
				Naive: func(in arrays) []float64 { return naiveSolve(in[0], in[1], n, 2, trans) },
			})
		}
		cases = append(cases, pickCases(n)...)
	}
	return cases
}

func pickCases(n int) []graphtest.Case {
	k := n * (n + 1) / 2
	return []graphtest.Case{
		{Name: fmt.Sprint("diag ", n), Shapes: [][]int{{2, n, n}},
			Build: func(b *builder, in []*node) *node { return b.Diag(in[0]) },
			Naive: func(in arrays) []float64 {
				var out []float64
				for i := range 2 * n {
					out = append(out, in[0][i*n+i%n])
				}
				return out
			}},
		{Name: fmt.Sprint("diagonal ", n), Shapes: [][]int{{2, n}},
			Build: func(b *builder, in []*node) *node { return b.Diagonal(in[0]) },
			Naive: func(in arrays) []float64 {
				out := make([]float64, 2*n*n)
				for i := range 2 * n {
					out[i*n+i%n] = in[0][i]
				}
				return out
			}},
		{Name: fmt.Sprint("lower ", n), Shapes: [][]int{{k}},
			Build: func(b *builder, in []*node) *node { return b.Lower(in[0]) },
			Naive: func(in arrays) []float64 {
				out, next := make([]float64, n*n), 0
				for i := range n {
					for j := range i + 1 {
						out[i*n+j] = in[0][next]
						next++
					}
				}
				return out
			}},
		{Name: fmt.Sprint("pack lower ", n), Shapes: [][]int{{2, n, n}},
			Build: func(b *builder, in []*node) *node { return b.PackLower(in[0]) },
			Naive: func(in arrays) []float64 {
				var out []float64
				for i := range 2 * n {
					out = append(out, in[0][i*n:i*n+i%n+1]...)
				}
				return out
			}},
	}
}

// naiveCholesky is the textbook row-by-row factorisation.
func naiveCholesky(a []float64, n int) []float64 {
	r := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			s := a[i*n+j]
			for l := range j {
				s -= r[i*n+l] * r[j*n+l]
			}
			if i == j {
				r[i*n+i] = math.Sqrt(s)
			} else {
				r[i*n+j] = s / r[j*n+j]
			}
		}
	}
	return r
}

func naiveSolve(r, rhs []float64, n, m int, trans bool) []float64 {
	x := append([]float64{}, rhs...)
	for step := range n {
		i := step
		if trans {
			i = n - 1 - step
		}
		for c := range m {
			for l := range n {
				switch {
				case !trans && l < i:
					x[i*m+c] -= r[i*n+l] * x[l*m+c]
				case trans && l > i:
					x[i*m+c] -= r[l*n+i] * x[l*m+c]
				}
			}
			x[i*m+c] /= r[i*n+i]
		}
	}
	return x
}
