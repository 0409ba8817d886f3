package graph

import (
	"fmt"
	"sync"

	"github.com/go-valla/valla/internal/kernel"
)

// ConvOptions are the settings of [Builder.Convolution], each for rows and for columns. The
// zero value of Groups, of a stride or of a dilation means 1.
type ConvOptions struct {
	Groups        int    // groups of channels that are convolved separately
	Stride        [2]int // places from one result to the next
	Dilation      [2]int // from one element of a filter to the next in the image
	Before, After [2]int // zeros around the image
}

func (o ConvOptions) complete() ConvOptions {
	o.Groups = max(o.Groups, 1)
	for i := range 2 {
		o.Stride[i], o.Dilation[i] = max(o.Stride[i], 1), max(o.Dilation[i], 1)
	}
	return o
}

// simple says whether Conv2D computes the convolution.
func (o ConvOptions) simple() bool {
	return o.Groups == 1 && o.Stride[0] == o.Stride[1] && o.Dilation == [2]int{1, 1} && o.Before == o.After && o.Before[0] == o.Before[1]
}

// groupConv is a convolution with all settings and plain loops.
type groupConv struct {
	ConvOptions           // complete
	in, out        int    // channels of images and of results
	height, width  int    // of the images
	filter, places [2]int // rows and columns of a filter and of a result
}

// general returns a convolution as one with all settings.
func general(c convolution) groupConv {
	if p, ok := c.(plainConv); ok {
		return groupConv{
			ConvOptions: ConvOptions{1, [2]int{p.Stride, p.Stride}, [2]int{1, 1}, [2]int{p.Padding, p.Padding}, [2]int{p.Padding, p.Padding}},
			in:          p.In, out: p.Out, height: p.Height, width: p.Width,
			filter: [2]int{p.KernelHeight, p.KernelWidth}, places: [2]int{p.OutHeight(), p.OutWidth()},
		}
	}
	return c.(groupConv)
}

func (c groupConv) String() string {
	return fmt.Sprintf("of %d×%d×%d by %d filters %v to %v with %+v", c.in, c.height, c.width, c.out, c.filter, c.places, c.ConvOptions)
}

// Check implements convolution.
func (c groupConv) Check() error {
	limit := 1 << 31
	for _, n := range []int{c.in, c.out, c.height, c.width, c.filter[0], c.filter[1], c.places[0], c.places[1]} {
		if n < 1 || n >= limit {
			return fmt.Errorf("convolution %v: sizes must be at least 1, and filters must fit", c)
		}
	}
	if c.in%c.Groups != 0 || c.out%c.Groups != 0 || min(c.Before[0], c.Before[1], c.After[0], c.After[1]) < 0 {
		return fmt.Errorf("convolution %v: groups must divide the channels, padding be at least 0", c)
	}
	return nil
}

func (c groupConv) shape(p part) []int {
	switch p {
	case images:
		return []int{c.in, c.height, c.width}
	case results:
		return []int{c.out, c.places[0], c.places[1]}
	}
	return []int{c.out, c.in / c.Groups, c.filter[0], c.filter[1]}
}

func (c groupConv) loops(p part, n kernel.ConvRows) Loops {
	return Loops{F32: groupConvLoop[float32](c, p, n), F64: groupConvLoop[float64](c, p, n)}
}

// groupConvLoop divides the work by results and by groups, which have channels and filters of their own.
func groupConvLoop[T kernel.Float](c groupConv, p part, n kernel.ConvRows) func(y []T, x [][]T) error {
	return (&groupJob[T]{groupConv: c, part: p, n: n}).run
}

// groupJob is the work of one call.
type groupJob[T kernel.Float] struct {
	groupConv
	part part
	n    kernel.ConvRows
	y    []T
	x    [][]T
}

// products reports whether a group has so many channels that a product with the patches of an image pays.
func (c groupConv) products() bool {
	const few = 8
	return c.out/c.Groups >= few && c.taps() >= few
}

// area is the number of elements of a filter in a channel.
func (c groupConv) area() int { return c.filter[0] * c.filter[1] }

// taps is the number of elements of a filter.
func (c groupConv) taps() int { return c.in / c.Groups * c.area() }

// spots is the number of places of a result.
func (c groupConv) spots() int { return c.places[0] * c.places[1] }

// units is the number of results, each with its groups.
func (j *groupJob[T]) units() int {
	return j.Groups * map[part]int{images: j.n.X, filters: j.n.W, results: j.n.Y}[j.part]
}

func (j *groupJob[T]) run(y []T, x [][]T) error {
	clear(y)
	j.y, j.x = y, x
	work := max(j.n.X, j.n.W, j.n.Y) * size(j.shape(results)) * j.taps()
	kernel.Share(kernel.Parts(j.units(), work, stackWork), kernel.Nanoseconds(work), j)
	return nil
}

// Run implements kernel.Job. The terms of a result are added in their order.
func (j *groupJob[T]) Run(part, parts int) {
	units, terms, from := j.units(), max(j.n.X, j.n.W, j.n.Y), inputsOf[j.part]
	xs, ws, ys := size(j.shape(images)), size(j.shape(filters)), size(j.shape(results))
	each := terms * j.Groups / units
	var patches []T
	if j.products() {
		rooms := roomsOf[T]()
		patches = rooms.take(j.taps() * j.spots())
		defer rooms.put(patches)
	}
	for u := units * part / parts; u < units*(part+1)/parts; u++ {
		for r := u / j.Groups * each; r < (u/j.Groups+1)*each; r++ {
			var operands [3][]T
			operands[j.part], operands[from[0]], operands[from[1]] = j.y, j.x[0], j.x[1]
			image, filter, result := operands[images][r*j.n.X/terms*xs:], operands[filters][r*j.n.W/terms*ws:], operands[results][r*j.n.Y/terms*ys:]
			if j.products() {
				productTerm(j.groupConv, j.part, u%j.Groups, patches, image, filter, result)
			} else {
				convTerm(j.groupConv, j.part, u%j.Groups, image, filter, result)
			}
		}
	}
}

// rooms keeps arrays for patches, as many as there were at one time: all convolutions of all programs together have one for each thread.
type rooms[T kernel.Float] struct {
	mu   sync.Mutex
	free [][]T // not in use
}

var (
	rooms32 rooms[float32]
	rooms64 rooms[float64]
)

func roomsOf[T kernel.Float]() *rooms[T] {
	if r, ok := any(&rooms32).(*rooms[T]); ok {
		return r
	}
	return any(&rooms64).(*rooms[T])
}

// take returns an array of n numbers. An array that is too small is replaced.
func (r *rooms[T]) take(n int) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		v := r.free[last]
		if r.free = r.free[:last]; cap(v) >= n {
			return v[:n]
		}
	}
	return make([]T, n)
}

func (r *rooms[T]) put(v []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, v)
}

// productTerm is convTerm by a product of the filters [Out,K] and the patches [K,places] of the group's channels.
func productTerm[T kernel.Float](c groupConv, p part, group int, patches, x, w, y []T) {
	out, k, n := c.out/c.Groups, c.taps(), c.spots()
	x, w, y = x[group*c.in/c.Groups*c.height*c.width:], w[group*out*k:], y[group*out*n:]
	switch p {
	case results:
		movePatches(c, false, patches, x)
		kernel.Gemm(false, false, out, n, k, 1, w, k, patches, n, 1, y, n)
	case images:
		kernel.Gemm(true, false, k, n, out, 1, w, k, y, n, 0, patches, n)
		movePatches(c, true, patches, x)
	default:
		movePatches(c, false, patches, x)
		kernel.Gemm(false, true, out, k, n, 1, y, n, patches, n, 1, w, k)
	}
}

// movePatches copies the patches [K,places] of a group's channels out of an image x, or, with fold, adds them to it.
func movePatches[T kernel.Float](c groupConv, fold bool, patches, x []T) {
	if !fold {
		clear(patches)
	}
	n := c.spots()
	for tap := range c.taps() {
		channel, ky, kx := tap/c.area(), tap/c.filter[1]%c.filter[0], tap%c.filter[1]
		c.eachRow(ky, kx, func(to, from, count, step int) {
			own, image := patches[tap*n+to:tap*n+to+count], x[channel*c.height*c.width+from:]
			switch {
			case fold:
				axpy(1, own, 1, image, step, count)
			case step == 1:
				copy(own, image)
			default:
				for i := range own {
					own[i] = image[i*step]
				}
			}
		})
	}
}

// eachRow calls f for each row of results that element ky, kx of a filter sees: count places from place to on see the
// elements of an image from element from on, which lie step apart.
func (c groupConv) eachRow(ky, kx int, f func(to, from, count, step int)) {
	shift, step := kx*c.Dilation[1]-c.Before[1], c.Stride[1]
	first, last := 0, min(c.places[1], (c.width-1-shift+step)/step)
	if shift < 0 {
		first = (step - 1 - shift) / step
	}
	for i := range c.places[0] {
		row := i*c.Stride[0] + ky*c.Dilation[0] - c.Before[0]
		if row >= 0 && row < c.height && first < last {
			f(i*c.places[1]+first, row*c.width+first*step+shift, last-first, step)
		}
	}
}

// convTerm adds one term of the part p: the convolution of a group's channels of one image.
func convTerm[T kernel.Float](c groupConv, p part, group int, x, w, y []T) {
	in, out := c.in/c.Groups, c.out/c.Groups
	for o := group * out; o < (group+1)*out; o++ {
		result := y[o*c.places[0]*c.places[1]:]
		for k := range in {
			image := x[(group*in+k)*c.height*c.width:]
			for ky := range c.filter[0] {
				for kx := range c.filter[1] {
					convTap(c, p, ky, kx, image, &w[((o*in+k)*c.filter[0]+ky)*c.filter[1]+kx], result)
				}
			}
		}
	}
}

// convTap adds what one element of a filter does, row by row of the results.
func convTap[T kernel.Float](c groupConv, p part, ky, kx int, image []T, w *T, result []T) {
	c.eachRow(ky, kx, func(to, from, count, step int) {
		y, x := result[to:to+count], image[from:]
		switch p {
		case results:
			axpy(*w, x, step, y, 1, count)
		case images:
			axpy(*w, y, 1, x, step, count)
		default:
			*w += dot(x, step, y)
		}
	})
}

// axpy adds a·x to n elements of y. Elements of x are stepX apart. Elements of y are stepY apart.
func axpy[T kernel.Float](a T, x []T, stepX int, y []T, stepY, n int) {
	if stepX == 1 && stepY == 1 {
		kernel.Axpy(a, x[:n], y[:n])
		return
	}
	for i := range n {
		y[i*stepY] += a * x[i*stepX]
	}
}

// dot is the inner product of y with the elements of x that are step apart.
func dot[T kernel.Float](x []T, step int, y []T) T {
	if step == 1 {
		return kernel.Dot(x[:len(y)], y)
	}
	var sum T
	for i, v := range y {
		sum += x[i*step] * v
	}
	return sum
}

// Convolution returns the convolution of images x [B,In,H,W] with filters
// w [Out,In/Groups,KH,KW], as ONNX's Conv and PyTorch's conv2d: result [B,Out,H',W'] with
// H' = (H + Before + After − Dilation·(KH − 1) − 1)/Stride + 1, rounded down.
func (b *Builder) Convolution(x, w *Node, o ConvOptions) *Node {
	if !b.usable("convolution", x, w) {
		return nil
	}
	xs, ws := x.Shape(), w.Shape()
	if o = o.complete(); len(xs) != 4 || len(ws) != 4 || xs[1] != ws[1]*o.Groups {
		return b.Failf("graph: convolution: shapes %v and %v in %d groups, expected [B,In,H,W] and [Out,In/groups,KH,KW]", xs, ws, o.Groups)
	}
	if o.simple() {
		return b.Conv2D(x, w, o.Stride[0], o.Before[0])
	}
	c := groupConv{ConvOptions: o, in: xs[1], out: ws[0], height: xs[2], width: xs[3], filter: [2]int(ws[2:])}
	for d := range 2 {
		if room := xs[2+d] + o.Before[d] + o.After[d] - o.Dilation[d]*(ws[2+d]-1) - 1; room >= 0 {
			c.places[d] = room/o.Stride[d] + 1
		}
	}
	return b.Apply(conv{part: results, convolution: c, rows: kernel.ConvRows{X: xs[0], W: 1, Y: xs[0]}}, x, w)
}

// ConvTranspose returns the transposed convolution of x [B,In,H,W] with filters
// w [In,Out/Groups,KH,KW], as ONNX's ConvTranspose and PyTorch's conv_transpose2d: result
// [B,Out,H',W'] with H' = (H − 1)·Stride + Dilation·(KH − 1) + 1 − Before − After + extra,
// where 0 ≤ extra < Stride.
func (b *Builder) ConvTranspose(x, w *Node, extra [2]int, o ConvOptions) *Node {
	if !b.usable("transposed convolution", x, w) {
		return nil
	}
	xs, ws := x.Shape(), w.Shape()
	if o = o.complete(); len(xs) != 4 || len(ws) != 4 || xs[1] != ws[0] {
		return b.Failf("graph: transposed convolution: shapes %v and %v, expected [B,In,H,W] and [In,Out/groups,KH,KW]", xs, ws)
	}
	c := groupConv{ConvOptions: o, in: ws[1] * o.Groups, out: ws[0], filter: [2]int(ws[2:]), places: [2]int(xs[2:])}
	for d, to := range []*int{&c.height, &c.width} {
		*to = (xs[2+d]-1)*o.Stride[d] + o.Dilation[d]*(ws[2+d]-1) + 1 - o.Before[d] - o.After[d] + extra[d]
		if extra[d] < 0 || extra[d] >= o.Stride[d] {
			return b.Failf("graph: transposed convolution: %d extra places with stride %d, expected fewer than the stride", extra[d], o.Stride[d])
		}
	}
	return b.Apply(conv{part: images, convolution: c, rows: kernel.ConvRows{X: xs[0], W: 1, Y: xs[0]}}, x, w)
}
