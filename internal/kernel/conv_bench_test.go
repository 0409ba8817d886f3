package kernel

import "testing"

// convShapes are shapes of residual networks on 32×32 pictures, and of small
// networks on 28×28 pictures.
var convShapes = []Conv{
	{3, 32, 32, 16, 3, 3, 1, 1, false}, {16, 32, 32, 16, 3, 3, 1, 1, false}, {32, 16, 16, 32, 3, 3, 1, 1, false}, {64, 8, 8, 64, 3, 3, 1, 1, false},
	{16, 32, 32, 32, 3, 3, 2, 1, false}, {32, 16, 16, 64, 3, 3, 2, 1, false}, {16, 32, 32, 32, 1, 1, 2, 0, false}, {32, 16, 16, 64, 1, 1, 2, 0, false},
	{1, 28, 28, 6, 5, 5, 1, 2, false}, {6, 14, 14, 16, 5, 5, 1, 0, false},
}

// convStacks are an ordinary batch, ten results for each image with filters of
// their own, and filters of their own.
var convStacks = []ConvRows{{X: 100, W: 1, Y: 100}, {X: 10, W: 100, Y: 100}, {X: 100, W: 100, Y: 100}}

func BenchmarkConvForward(b *testing.B) {
	benchConv(b, func(c convCall[float32]) { ConvForward(c.Conv, c.n, c.x.s(), c.w.s(), c.y.s()) },
		func(c convCall[float64]) { ConvForward(c.Conv, c.n, c.x.s(), c.w.s(), c.y.s()) })
}

func BenchmarkConvInput(b *testing.B) {
	benchConv(b, func(c convCall[float32]) { ConvInput(c.Conv, c.n, c.y.s(), c.w.s(), c.x.s()) },
		func(c convCall[float64]) { ConvInput(c.Conv, c.n, c.y.s(), c.w.s(), c.x.s()) })
}

func BenchmarkConvFilter(b *testing.B) {
	benchConv(b, func(c convCall[float32]) { ConvFilter(c.Conv, c.n, c.x.s(), c.y.s(), c.w.s()) },
		func(c convCall[float64]) { ConvFilter(c.Conv, c.n, c.x.s(), c.y.s(), c.w.s()) })
}

func benchConv(b *testing.B, f32 func(convCall[float32]), f64 func(convCall[float64])) {
	for _, n := range convStacks {
		for _, c := range convShapes {
			label := name(c.In, "x", c.Height, "x", c.Width, "-", c.Out, "/k", c.KernelHeight, "s", c.Stride, "p", c.Padding, "/", n.X, ",", n.W, ",", n.Y)
			benchBoth(b, label, benchConvCall(c, n, f32), benchConvCall(c, n, f64))
		}
	}
}

func benchConvCall[T Float](c Conv, n ConvRows, f func(convCall[T])) func(b *testing.B) {
	return func(b *testing.B) {
		call := newConv[T](source(1), c, n)
		b.ReportAllocs()
		for b.Loop() {
			f(call)
		}
		gflops(b, 2*float64(max(n.X, n.W, n.Y)*c.resultSize()*c.taps()))
	}
}

// imageNetShapes are shapes of residual networks on pictures of 224×224 pixels.
var imageNetShapes = []Conv{
	{3, 224, 224, 64, 7, 7, 2, 3, false},
	{64, 56, 56, 64, 3, 3, 1, 1, false}, {128, 28, 28, 128, 3, 3, 1, 1, false}, {256, 14, 14, 256, 3, 3, 1, 1, false}, {512, 7, 7, 512, 3, 3, 1, 1, false},
	{64, 56, 56, 128, 3, 3, 2, 1, false}, {256, 14, 14, 512, 3, 3, 2, 1, false},
	{64, 56, 56, 256, 1, 1, 1, 0, false}, {256, 56, 56, 64, 1, 1, 1, 0, false}, {1024, 14, 14, 256, 1, 1, 1, 0, false},
	{512, 7, 7, 2048, 1, 1, 1, 0, false}, {2048, 7, 7, 512, 1, 1, 1, 0, false}, {1024, 14, 14, 2048, 1, 1, 2, 0, false},
}

// BenchmarkConvImageNet has 20 images, in float32 and on one thread.
func BenchmarkConvImageNet(b *testing.B) {
	SetThreads(1)
	defer SetThreads(0)
	n := ConvRows{X: 20, W: 1, Y: 20}
	for _, c := range imageNetShapes {
		label := name(c.In, "x", c.Height, "-", c.Out, "/k", c.KernelHeight, "s", c.Stride, "/")
		b.Run(label+"forward", benchConvCall(c, n, func(c convCall[float32]) { ConvForward(c.Conv, c.n, c.x.s(), c.w.s(), c.y.s()) }))
		b.Run(label+"input", benchConvCall(c, n, func(c convCall[float32]) { ConvInput(c.Conv, c.n, c.y.s(), c.w.s(), c.x.s()) }))
		b.Run(label+"filter", benchConvCall(c, n, func(c convCall[float32]) { ConvFilter(c.Conv, c.n, c.x.s(), c.y.s(), c.w.s()) }))
	}
}
