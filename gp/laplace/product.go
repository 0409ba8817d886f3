package laplace

import "github.com/go-valla/valla/internal/kernel"

// product adds products of rows to sums in float64. Products of float32 rows are computed in float32 for some columns at a time,
// or in float64 where precise is set.
type product[T kernel.Float] struct {
	precise bool
	sum     []T       // of some columns: [some rows of V, rows of U]
	u, v    []float64 // some columns of U, and of some rows of V, in float64
}

const (
	// productRows are so many rows of V that their sums with some hundred rows of U stay in the cache.
	productRows = 512
	// productColumns are so few that sums in float32 lose little, and so many that adding them up takes little time, 2 % in
	// predictions of ResNet-20.
	productColumns = 4096
	// widenedColumns are so few that rows in float64 stay in the cache: 2 MB of V.
	widenedColumns = 512
)

// newProduct takes memory for products of m rows with n rows.
func (f factors[T]) newProduct(double *working[float64], own *working[T], precise bool, m, n int) product[T] {
	p := product[T]{precise: precise}
	switch n, width := min(n, productRows), min(f.widestFactor(), widenedColumns); {
	case !f.single():
	case precise:
		p.u, p.v = double.take(m*width), double.take(n*width)
	default:
		p.sum = own.take(m * n)
	}
	return p
}

// add adds α U Vᵀ to out [m,ld], for the rows U [m,q] and V [n,q].
func (p *product[T]) add(m, n, q int, alpha float64, u, v []T, out []float64, ld int) {
	if u, ok := any(u).([]float64); ok {
		kernel.Gemm(false, true, m, n, q, alpha, u, q, any(v).([]float64), q, 1, out, ld)
		return
	}
	columns := productColumns
	if p.precise {
		columns = widenedColumns
	}
	for k := 0; k < q; k += columns {
		width := min(columns, q-k)
		if p.precise {
			gather(p.u, u[k:], m, width, q)
		}
		for j := 0; j < n; j += productRows {
			p.part(m, min(productRows, n-j), width, q, alpha, u[k:], v[j*q+k:], out[j:], ld)
		}
	}
}

// part is add for some rows and columns, whose rows are q apart. The columns of U are already in float64 where precise is set.
func (p *product[T]) part(m, n, width, q int, alpha float64, u, v []T, out []float64, ld int) {
	if p.precise {
		gather(p.v, v, n, width, q)
		kernel.Gemm(false, true, m, n, width, alpha, p.u, width, p.v, width, 1, out, ld)
		return
	}
	if m == 1 { // a product with a vector would round in another way than a row among others
		kernel.Gemm(false, true, m, n, width, 1, u, q, v, q, 0, p.sum, n)
	} else { // the many rows of V come first, so that the product reads them in place
		kernel.Gemm(false, true, n, m, width, 1, v, q, u, q, 0, p.sum, m)
	}
	for r := range m {
		to := out[r*ld : r*ld+n]
		for i := range to {
			to[i] += alpha * float64(p.sum[i*m+r])
		}
	}
}

// gather writes the first width columns of m rows, which are ld apart, to the front of dst in float64.
func gather[T kernel.Float](dst []float64, rows []T, m, width, ld int) {
	for r := range m {
		convert(dst[r*width:(r+1)*width], rows[r*ld:r*ld+width])
	}
}

// widened returns v in float64: itself, or a copy at the front of dst.
func widened[T kernel.Float](dst []float64, v []T) []float64 {
	if same, ok := any(v).([]float64); ok {
		return same
	}
	convert(dst, v)
	return dst[:len(v)]
}
