package likelihood

// RowConditional is implemented by a Conditional whose curvature depends on the numbers of a target beside its value:
// an exposure or a scale. Curvature and the methods of a Likelihood without a target take the exposure and the
// scale 1.
type RowConditional interface {
	Conditional
	// CurvatureOf returns Λ(f) of a row with the target y [W], of which the value does not count.
	CurvatureOf(y []float64, f float64) float64
}

// rowConditional returns the RowConditional of l; ok is false where the curvature depends on f alone.
func rowConditional(l Likelihood) (given RowConditional, ok bool) {
	if l.Width() == 1 {
		return nil, false
	}
	s, ok := Of(l)
	if !ok {
		return nil, false
	}
	given, ok = s.Given().(RowConditional)
	return given, ok
}

// ByRow reports whether the curvature of l depends on the targets, see [RowConditional].
func ByRow(l Likelihood) bool {
	_, ok := rowConditional(l)
	return ok
}

// CurvatureOf writes Λ of one example with the targets y [W·C] to dst [C,C]. Without y it is l.Curvature.
func CurvatureOf(l Likelihood, dst, y, f []float64) {
	given, ok := rowConditional(l)
	if !ok || y == nil {
		l.Curvature(dst, f)
		return
	}
	clear(dst)
	for c, v := range f {
		dst[c*len(f)+c] = given.CurvatureOf(y[c*l.Width():(c+1)*l.Width()], v)
	}
}

// RootOf writes the weights and the mean of Root for one example with the targets y [W·C]. Without y it is
// l.Root.
func RootOf(l Likelihood, w, m, y, f []float64) {
	given, ok := rowConditional(l)
	if !ok || y == nil {
		l.Root(w, m, f)
		return
	}
	clear(m[:len(f)])
	for c, v := range f {
		w[c] = given.CurvatureOf(y[c*l.Width():(c+1)*l.Width()], v)
	}
}

// CurvatureOf implements RowConditional: the curvature of the mean with the exposure.
func (g givenCount) CurvatureOf(y []float64, f float64) float64 {
	return g.Curvature(f + logExposure(y))
}

// CurvatureOf implements RowConditional.
func (g givenHeteroscedastic) CurvatureOf(y []float64, f float64) float64 {
	k, _ := scaleOf(y)
	return k * k * g.Curvature(f*k)
}

var _, _ RowConditional = givenCount{}, givenHeteroscedastic{}

// targetOf returns the numbers of y that belong to the outputs at … at+c−1; nil where y is nil.
func targetOf(l Likelihood, y []float64, at, c int) []float64 {
	if y == nil {
		return nil
	}
	w := l.Width()
	return y[at*w : (at+c)*w]
}
