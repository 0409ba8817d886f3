package corrupt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// scene is a picture [10,12] of two blocks and two dots.
func scene() []uint8 {
	x := make([]uint8, 10*12)
	for i := range x {
		switch y, c := i/12, i%12; {
		case y == 4 && c == 6:
			x[i] = 90
		case y >= 2 && y < 5 && c >= 3 && c < 7:
			x[i] = 200
		case y >= 6 && y < 9 && c >= 8 && c < 11:
			x[i] = 180
		case y == 7 && c == 1:
			x[i] = 255
		}
	}
	return x
}

// cv2.Canny(scene, 50, 150) of OpenCV 4.6.
var outlines = []string{
	"............",
	"....##......",
	"...#..#.....",
	"..#...#.....",
	"...####.....",
	".........#..",
	"##......#.#.",
	"#.#....#..#.",
	"###.....###.",
	"............",
}

func TestEdgesLikeOpenCV(t *testing.T) {
	var got strings.Builder
	for _, e := range edges(scene(), 10, 12, 50, 150) {
		got.WriteByte(".#"[map[bool]int{true: 1}[e]])
	}
	if want := strings.Join(outlines, ""); got.String() != want {
		t.Errorf("edges\n%s, want\n%s", got.String(), want)
	}
}

// The first and the last row of cv2.distanceTransform(255-edges, cv2.DIST_L2, 5).
func TestDistancesLikeOpenCV(t *testing.T) {
	var edge []bool
	for _, c := range strings.Join(outlines, "") {
		edge = append(edge, c == '#')
	}
	d := distances(edge, 10, 12)
	first := []float64{3.5969, 2.8000, 2.1969, 1.4000, 1.0000, 1.0000, 1.4000, 2.1969, 2.8000, 3.5969, 4.3938, 5.3938}
	last := []float64{1.0000, 1.0000, 1.0000, 1.4000, 2.1969, 2.8000, 2.1969, 1.4000, 1.0000, 1.0000, 1.0000, 1.4000}
	fixture.Close(t, "first row", d[:12], first, 1e-4)
	fixture.Close(t, "last row", d[108:], last, 1e-4)
}

func TestNoEdgesAreFarAway(t *testing.T) {
	for i, d := range distances(make([]bool, 6), 2, 3) {
		if !math.IsInf(d, 1) {
			t.Errorf("pixel %d is %g from no edge", i, d)
		}
	}
}

// Rows of what the authors' steps make of the scene with OpenCV 4.6: threshold at
// 20, blur, equalizeHist, filter2D, blur.
func TestReliefLikeOpenCV(t *testing.T) {
	got := relief(scene(), 10, 12)
	for row, want := range map[int][]uint8{
		0: {53, 46, 7, 0, 19, 104, 189, 255, 255, 252, 243, 239},
		4: {19, 19, 28, 57, 85, 75, 94, 112, 118, 76, 29, 9},
		9: {0, 85, 170, 251, 239, 154, 73, 0, 0, 0, 0, 0},
	} {
		if !slices.Equal(got[row*12:(row+1)*12], want) {
			t.Errorf("row %d: %d, want %d", row, got[row*12:(row+1)*12], want)
		}
	}
}

func TestEqualize(t *testing.T) {
	x := []uint8{7, 7, 9, 9, 9, 200}
	equalize(x) // 3 of the 4 above the lowest are 9: 255·3/4 = 191.25
	if want := []uint8{0, 0, 191, 191, 191, 255}; !slices.Equal(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
	flat := []uint8{5, 5, 5}
	equalize(flat)
	if !slices.Equal(flat, []uint8{5, 5, 5}) {
		t.Errorf("a flat picture became %v", flat)
	}
}

// Water and mud have their colours, and where there is none the image is as it was.
func TestSpatterColours(t *testing.T) {
	src := slices.Repeat([]uint8{100}, channels*32*32)
	dst := make([]uint8, len(src))
	const n = 32 * 32
	for severity := 1; severity <= Severities; severity++ {
		must(t, "spatter", severity, 3).Apply(dst, src, 32, 32, 0)
		wet := 0
		for i := range n {
			r, g, b := dst[i], dst[n+i], dst[2*n+i]
			if r == 100 && g == 100 && b == 100 {
				continue
			}
			wet++
			if water := r >= 100 && r <= g && g == b; severity <= 3 && !water {
				t.Fatalf("severity %d: water of the colour %d, %d, %d", severity, r, g, b)
			}
			if mud := r < 100 && r > g && g > b; severity > 3 && !mud {
				t.Fatalf("severity %d: mud of the colour %d, %d, %d", severity, r, g, b)
			}
		}
		if wet == 0 || wet > n/2 {
			t.Errorf("severity %d: %d pixels of %d are wet", severity, wet, n)
		}
	}
}

// Without any liquid there is no water and no NaN.
func TestDrySpatter(t *testing.T) {
	f := &frame{h: 4, w: 4, src: picture(4, 4, 1), dst: make([]uint8, 48)}
	onUnit(func(f *frame, x []float64) { f.water(x, make([]float64, 16), .5) })(f)
	if !slices.Equal(f.dst, f.src) {
		t.Error("no water changed the image")
	}
}
