package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// maxPool finds the largest element in each window of the images x, its first operand,
// and takes from the second operand, of x's shape, the element at the same place. With
// scatter set the second operand has one element for each window, which is added to
// that place among zeros. Either is the transpose of the other, as a function of the
// second operand; as a function of x both are constant almost everywhere.
type maxPool struct {
	pool
	scatter bool // the transpose in the second operand
}

func (r maxPool) Key() string { return fmt.Sprintf("max pool %v scatter %t", r.pool, r.scatter) }

// pool holds the windows in images [B,C,H,W]: their rows and columns, and the steps from one
// window to the next. Windows do not reach over the edge.
type pool struct {
	size, stride [2]int // rows and columns
}

// windows returns the shape of the results, one element for each window.
func (p pool) windows(in tensor.Shape) (tensor.Shape, error) {
	if len(in) != 4 || min(p.size[0], p.size[1], p.stride[0], p.stride[1]) < 1 || in[2] < p.size[0] || in[3] < p.size[1] {
		return nil, fmt.Errorf("windows of %d×%d every %d×%d in shape %v, expected [B,C,H,W] and windows that fit",
			p.size[0], p.size[1], p.stride[0], p.stride[1], in)
	}
	return tensor.Shape{in[0], in[1], (in[2]-p.size[0])/p.stride[0] + 1, (in[3]-p.size[1])/p.stride[1] + 1}, nil
}

func (r maxPool) Shape(in []tensor.Shape) (tensor.Shape, error) {
	out, err := r.windows(in[0])
	if err != nil {
		return nil, err
	}
	second, result := directed(r.scatter, in[0], out)
	if !sameShape(in[1], second) {
		return nil, fmt.Errorf("second operand has shape %v, expected %v", in[1], second)
	}
	return result, nil
}

func (r maxPool) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	if i == 0 {
		return nil
	}
	return b.Apply(maxPool{r.pool, !r.scatter}, in[0], ct)
}

func (r maxPool) RowWise(batched []bool, _ []tensor.Shape) bool { return batched[0] && batched[1] }

func (r maxPool) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: maxPoolLoop[float32](r, in[0], out), F64: maxPoolLoop[float64](r, in[0], out)}
}

func maxPoolLoop[T kernel.Float](r maxPool, in, out tensor.Shape) func(y []T, x [][]T) error {
	small, _ := r.windows(in)
	h, w, rows, cols := in[2], in[3], small[2], small[3]
	planes := in[0] * in[1]
	return func(y []T, x [][]T) error {
		if r.scatter {
			clear(y)
		}
		for p := range planes {
			for i := range rows {
				for j := range cols {
					at := p*h*w + largest(r.pool, x[0][p*h*w:], w, i*r.stride[0], j*r.stride[1])
					if k := (p*rows+i)*cols + j; r.scatter {
						y[at] += x[1][k]
					} else {
						y[k] = x[1][at]
					}
				}
			}
		}
		return nil
	}
}

// largest returns the offset of the first largest element of the window at (i, j) of a
// plane of width w. A NaN counts as larger than any number.
func largest[T kernel.Float](p pool, plane []T, w, i, j int) int {
	best := i*w + j
	for di := range p.size[0] {
		for dj := range p.size[1] {
			if k := (i+di)*w + j + dj; plane[k] > plane[best] || plane[k] != plane[k] && plane[best] == plane[best] {
				best = k
			}
		}
	}
	return best
}

// MaxPool returns the largest element of each window of images x [B,C,H,W]. A window has size[0]
// rows and size[1] columns; the next windows begin stride[0] rows and stride[1] columns further on.
// The result has the shape [B,C,(H−size[0])/stride[0]+1,(W−size[1])/stride[1]+1], rounded down. If
// several elements of a window are the largest, the derivative goes to the first.
func (b *Builder) MaxPool(x *Node, size, stride [2]int) *Node {
	return b.Apply(maxPool{pool{size, stride}, false}, x, x)
}

// averagePool is the mean of each window; with spread set its transpose, which adds
// the mean share of each window's element to the window in zeros of that height and
// width.
type averagePool struct {
	pool
	spread        bool // the transpose
	height, width int  // of the images
}

func (r averagePool) Key() string {
	return fmt.Sprintf("average pool %v spread %t to %d×%d", r.pool, r.spread, r.height, r.width)
}

func (r averagePool) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) != 4 {
		return nil, fmt.Errorf("shape %v, expected [B,C,H,W]", in[0])
	}
	images := tensor.Shape{in[0][0], in[0][1], r.height, r.width}
	small, err := r.windows(images)
	if err != nil {
		return nil, err
	}
	return expected(in[0], r.spread, images, small)
}

func (r averagePool) Pullback(b *Builder, _ int, _ []*Node, _, ct *Node) *Node {
	return b.Apply(averagePool{r.pool, !r.spread, r.height, r.width}, ct)
}

func (r averagePool) RowWise(batched []bool, _ []tensor.Shape) bool { return batched[0] }

func (r averagePool) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: averagePoolLoop[float32](r, in[0], out), F64: averagePoolLoop[float64](r, in[0], out)}
}

func averagePoolLoop[T kernel.Float](r averagePool, in, out tensor.Shape) func(y []T, x [][]T) error {
	_, small := directed(r.spread, in, out)
	rows, cols := small[2], small[3]
	planes, plane := in[0]*in[1], r.height*r.width
	share := 1 / T(r.size[0]*r.size[1])
	return func(y []T, x [][]T) error {
		clear(y)
		for p := range planes {
			for k := range rows * cols {
				from := p*plane + k/cols*r.stride[0]*r.width + k%cols*r.stride[1]
				for i := range r.size[0] {
					row := from + i*r.width
					if at := p*rows*cols + k; r.spread {
						shift(y[row:row+r.size[1]], share*x[0][at])
					} else {
						y[at] += share * kernel.Sum(x[0][row:row+r.size[1]])
					}
				}
			}
		}
		return nil
	}
}

// shift adds v to every element.
func shift[T kernel.Float](dst []T, v T) {
	for i := range dst {
		dst[i] += v
	}
}

// images reports whether x can be an operand in b's graph and has the shape of images, and fails b if not.
func (b *Builder) images(what string, x *Node) bool {
	if b.usable(what, x) && x.Dims() != 4 {
		b.Failf("graph: %s: shape %v, expected [B,C,H,W]", what, x.Shape())
	}
	return b.err == nil
}

// AveragePool returns the mean of each window of images x [B,C,H,W]. Windows and shapes are as in
// [Builder.MaxPool].
func (b *Builder) AveragePool(x *Node, size, stride [2]int) *Node {
	if !b.images("average pool", x) {
		return nil
	}
	return b.Apply(averagePool{pool: pool{size, stride}, height: x.Shape()[2], width: x.Shape()[3]}, x)
}

// GlobalAveragePool returns the mean over the places of images x [B,C,H,W], [B,C].
func (b *Builder) GlobalAveragePool(x *Node) *Node {
	if !b.images("global average pool", x) {
		return nil
	}
	s := x.Shape()
	return b.Reshape(b.Scale(b.SumTo(x, s[0], s[1], 1, 1), 1/float64(s[2]*s[3])), s[0], s[1])
}
