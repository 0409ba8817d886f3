package experiments

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"path/filepath"

	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// picked is one method's probit predictions, kept for the pictures.
type picked struct {
	method  string
	in, out prediction
	labels  []int
	turned  []RotationScore
}

// RotationScore is how a method predicts the test images turned by an angle.
type RotationScore struct {
	Dataset string  `json:"dataset"`
	Method  string  `json:"method"`
	Degrees float64 `json:"degrees"`
	ACC     float64 `json:"acc"`
	NLL     float64 `json:"nll"`
	ECE     float64 `json:"ece"`
}

// rotations scores the test images turned by 10°, 20°, … 180°, probit probabilities.
func (p *imageProblem) rotations(ctx context.Context, method string, post gp.Posterior) ([]RotationScore, error) {
	var rows []RotationScore
	for angle := 0.0; angle <= 180; angle += 10 {
		pixels, err := image.Rotate(p.test.Pixels, p.test.H, p.test.W, angle, image.Bilinear)
		if err != nil {
			return nil, err
		}
		turned := *p.test
		turned.Images = idx.Images{N: p.test.N, H: p.test.H, W: p.test.W, Pixels: pixels}
		g, err := post.Predict(ctx, p.inputs(&turned))
		if err != nil {
			return nil, err
		}
		s, err := classification(newPrediction(gp.ProbitProbs(g)), &turned)
		if err != nil {
			return nil, err
		}
		rows = append(rows, RotationScore{p.name, method, angle, s.ACC, s.NLL, s.ECE})
	}
	return rows, nil
}

// colours of the methods in one picture, in the order of the rows.
var colours = []color.Color{black, vermilion, blue, color.RGBA{0, 158, 115, 255}, grey}

// figures draws what there is to see and returns the files' names.
func figures(dir, name string, kept []picked, scores []ImageScore) ([]string, error) {
	var files []string
	save := func(what string, panels ...*plot.Plot) error {
		file := name + "-" + what
		files = append(files, file+".png")
		return savePlots(filepath.Join(dir, file), panels...)
	}
	if err := save("reliability", reliability(kept)); err != nil {
		return nil, err
	}
	var entropies []*plot.Plot
	for _, k := range kept {
		entropies = append(entropies, entropyHistograms(k))
	}
	if err := save("entropy", entropies...); err != nil {
		return nil, err
	}
	if len(kept) > 0 && kept[0].turned != nil {
		nll := rotationCurves(kept, "NLL", func(r RotationScore) float64 { return r.NLL })
		ece := rotationCurves(kept, "ECE", func(r RotationScore) float64 { return r.ECE })
		if err := save("rotation", nll, ece); err != nil {
			return nil, err
		}
	}
	times, err := timeBoxes(scores)
	if err != nil || times == nil {
		return files, err
	}
	return files, save("time", times)
}

// reliability plots accuracy against confidence in 15 bins; the diagonal is perfect.
func reliability(kept []picked) *plot.Plot {
	pl := newPlot("reliability", "confidence", "accuracy")
	pl.Add(lines(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, grey, true))
	for i, k := range kept {
		l := lines(reliabilityCurve(k.in.probs, k.labels, 15), colours[i%len(colours)], false)
		pl.Add(l)
		pl.Legend.Add(k.method, l)
	}
	return pl
}

// reliabilityCurve returns mean confidence and accuracy of each bin that has examples.
func reliabilityCurve(probs []float64, labels []int, bins int) plotter.XYs {
	conf, right, count := make([]float64, bins), make([]float64, bins), make([]float64, bins)
	c := len(probs) / len(labels)
	for i, label := range labels {
		best := 0
		row := probs[i*c : (i+1)*c]
		for k, p := range row {
			if p > row[best] {
				best = k
			}
		}
		b := min(max(int(math.Ceil(row[best]*float64(bins)))-1, 0), bins-1)
		conf[b] += row[best]
		count[b]++
		if best == label {
			right[b]++
		}
	}
	var xys plotter.XYs
	for b := range bins {
		if count[b] > 0 {
			xys = append(xys, plotter.XY{X: conf[b] / count[b], Y: right[b] / count[b]})
		}
	}
	return xys
}

// entropyHistograms shows the predictive entropy in and out of distribution.
func entropyHistograms(k picked) *plot.Plot {
	pl := newPlot(k.method, "predictive entropy, nats", "density")
	pl.Legend.Left = false
	for i, v := range [][]float64{k.in.entropies, k.out.entropies} {
		l := lines(histogram(v, 0, math.Log(10), 40), []color.Color{blue, vermilion}[i], false)
		pl.Add(l)
		pl.Legend.Add([]string{"test images", "other data set"}[i], l)
	}
	return pl
}

// histogram returns the outline of a density histogram of v on [low, high].
func histogram(v []float64, low, high float64, bins int) plotter.XYs {
	counts := make([]float64, bins)
	for _, x := range v {
		counts[min(max(int(float64(bins)*(x-low)/(high-low)), 0), bins-1)]++
	}
	width := (high - low) / float64(bins)
	var xys plotter.XYs
	for b, n := range counts {
		y := n / (float64(len(v)) * width)
		xys = append(xys, plotter.XY{X: low + float64(b)*width, Y: y}, plotter.XY{X: low + float64(b+1)*width, Y: y})
	}
	return xys
}

func rotationCurves(kept []picked, what string, value func(RotationScore) float64) *plot.Plot {
	pl := newPlot(what+" of turned images", "degrees", what)
	for i, k := range kept {
		var xys plotter.XYs
		for _, r := range k.turned {
			xys = append(xys, plotter.XY{X: r.Degrees, Y: value(r)})
		}
		l := lines(xys, colours[i%len(colours)], false)
		pl.Add(l)
		pl.Legend.Add(k.method, l)
	}
	return pl
}

// timeBoxes are box plots, over seeds, of the seconds that each method took to fit;
// nil where nothing was fitted.
func timeBoxes(scores []ImageScore) (*plot.Plot, error) {
	r := ImagesResult{Scores: scores}
	pl := newPlot("time to fit, over seeds", "", "seconds")
	var names []string
	for _, g := range r.groups() {
		if g[0].Probs != "probit" || g[0].Seconds == 0 {
			continue
		}
		var v plotter.Values
		for _, s := range g {
			v = append(v, s.Seconds)
		}
		box, err := plotter.NewBoxPlot(vg.Points(30), float64(len(names)), v)
		if err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
		pl.Add(box)
		names = append(names, g[0].Method)
	}
	if names == nil {
		return nil, nil
	}
	pl.NominalX(names...)
	pl.Y.Min = 0
	return pl, nil
}

// lines joins points.
func lines(xys plotter.XYs, c color.Color, dashed bool) *plotter.Line {
	l := &plotter.Line{XYs: xys, LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1.4)}}
	if dashed {
		l.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
	}
	return l
}
