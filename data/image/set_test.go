package image

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// threeImages are of one by two pixels in two channels.
func threeImages() *Set {
	return &Set{
		Images: Images{N: 3, C: 2, H: 1, W: 2, Pixels: []uint8{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}},
		Labels: []uint8{2, 0, 1}, Classes: 3,
	}
}

func TestSet(t *testing.T) {
	s := threeImages()
	if !slices.Equal(s.Class(), []int{2, 0, 1}) {
		t.Errorf("labels %v, want 2 0 1", s.Class())
	}
	hot := OneHot[float32](s)
	if want := []float32{0, 0, 1, 1, 0, 0, 0, 1, 0}; !hot.Shape().Eq(tensor.Shape{3, 3}) || !slices.Equal(hot.Float32s(), want) {
		t.Errorf("one-hot labels %v of shape %v, want %v", hot.Data(), hot.Shape(), want)
	}
	part := s.Slice(1, 3)
	if part.N != 2 || !slices.Equal(part.Pixels, s.Pixels[4:]) || !slices.Equal(part.Labels, []uint8{0, 1}) || part.Classes != 3 {
		t.Errorf("examples 1 and 2: %+v", part)
	}
	part.Pixels = append(part.Slice(0, 1).Pixels, 99) // in new memory
	if s.N != 3 || len(s.Pixels) != 12 || s.Pixels[8] != 20 {
		t.Errorf("the slice changed the set: %+v", s)
	}
}

func TestSliceRange(t *testing.T) {
	for _, c := range [][2]int{{-1, 2}, {2, 2}, {0, 4}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("examples %v of 3 exist", c)
				}
			}()
			threeImages().Slice(c[0], c[1])
		}()
	}
}
