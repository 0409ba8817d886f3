package law_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/law"
)

// TestJSON: laws survive a round trip with all bits.
func TestJSON(t *testing.T) {
	for name, l := range laws() {
		l.Own = ownScale()
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var read law.Law
		if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, l) {
			t.Errorf("%s: %+v from %s, error %v", name, read, text, err)
		}
	}
	text, err := json.Marshal(law.Normal())
	if want := `{"family":"gaussian","scale":1}`; string(text) != want || err != nil {
		t.Errorf("the Gaussian is %s, want %s", text, want)
	}
}

// TestFormerJSON: laws of files from before laws could be skewed are read as they were written.
func TestFormerJSON(t *testing.T) {
	const own = `"own":{"mean":[0,1,2],"inverse":[1,0.5,0],"linear":[0.1,-0.2,3],"inputs":[0,1,2,1,1,0],"slopes":[1,-1,0,0.5,0,0],"bias":[0,1],"output":[0.3,-0.4],"offset":0.05,"lowest":-1,"highest":1.5}`
	for text, want := range map[string]law.Law{
		`{"family":"student-t","dof":4.5,"scale":0.8}`:             {Family: law.StudentT, DoF: 4.5, Scale: 0.8},
		`{"family":"student-t","dof":4.5,"scale":0.8,` + own + `}`: {Family: law.StudentT, DoF: 4.5, Scale: 0.8, Own: ownScale()},
		`{"family":"mixture","weights":[0.5,0.5],"shifts":[-1,1],"scales":[1,2],` + own + `}`: {Family: law.Mixture, Weights: []float64{0.5, 0.5},
			Shifts: []float64{-1, 1}, Scales: []float64{1, 2}, Own: ownScale()},
	} {
		var read law.Law
		if err := json.Unmarshal([]byte(text), &read); err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("%+v from %s, error %v", read, text, err)
		}
		if written, err := json.Marshal(read); err != nil || string(written) != text {
			t.Errorf("%s is written as %s, error %v", text, written, err)
		}
	}
}

// TestBadJSON: every wrong law is refused in one line, and the old value stays.
func TestBadJSON(t *testing.T) {
	const own = `{"family":"gaussian","scale":1,"own":{"mean":[0],"inverse":[1],"linear":[1],`
	for text, want := range map[string]string{
		`{"family":"cauchy","scale":1}`: `law "cauchy", expected`,
		`{}`:                            `law "", expected`,
		`{"family":"gaussian","scale":1,"colour":2}`:                                  `unknown field "colour"`,
		`{"family":"gaussian","scale":"1"}`:                                           "cannot unmarshal string",
		`{"family":"gaussian","scale":-1}`:                                            "scale -1",
		`{"family":"gaussian"}`:                                                       "scale 0",
		`{"family":"gaussian","scale":1,"dof":3}`:                                     "3 degrees of freedom",
		`{"family":"gaussian","scale":1,"weights":[1]}`:                               "1 numbers of a mixture",
		`{"family":"gaussian","scale":1,"skew":1}`:                                    "skew 1 of a law \"gaussian\"",
		`{"family":"student-t","scale":1,"dof":3,"skew":4}`:                           "skew 4 of a law, expected -3 to 3",
		`{"family":"student-t","scale":1,"dof":2}`:                                    "2 degrees of freedom of a law, expected 2.1",
		`{"family":"student-t","scale":1,"dof":1e9}`:                                  "1e+09 degrees of freedom",
		`{"family":"mixture"}`:                                                        "a mixture of 0 weights",
		`{"family":"mixture","scale":1}`:                                              "scale 1 of a mixture",
		`{"family":"mixture","weights":[1,2],"shifts":[0],"scales":[1]}`:              "2 weights, 1 shifts and 1 scales",
		`{"family":"mixture","weights":[1.5,-0.5],"shifts":[0,0],"scales":[1,1]}`:     "part 1 of a mixture has weight -0.5",
		`{"family":"mixture","weights":[1],"shifts":[0],"scales":[0]}`:                "scale 0",
		`{"family":"mixture","weights":[0.5,0.5],"shifts":[0,1],"scales":[1,1]}`:      "its mean is 0.5",
		`{"family":"mixture","weights":[0.5,0.4],"shifts":[0,0],"scales":[1,1]}`:      "sum to 0.9",
		`{"family":"gaussian","scale":1,"own":{"mean":[]}}`:                           "0 means",
		`{"family":"gaussian","scale":1,"own":{"mean":[1],"inverse":[1,2]}}`:          "1 means, 2 scales and 0 coefficients",
		own + `"bias":[0],"output":[1],"inputs":[0,0,1],"slopes":[1,1,1]}}`:           "reads feature 1, expected 0 to 0",
		own + `"bias":[0],"output":[1],"inputs":[0,0],"slopes":[1,1,1]}}`:             "1 units with 1 coefficients, 2 inputs",
		own + `"bias":[0],"output":[1],"inputs":[0,0,0],"slopes":[1,1,1],"extra":1}}`: `unknown field "extra"`,
		own + `"lowest":2,"highest":1}}`:                                              "from 2 to 1",
	} {
		l := law.Law{Family: "untouched"}
		err := json.Unmarshal([]byte(text), &l)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || l.Family != "untouched" {
			t.Errorf("%s: error %v, want %q; law %+v", text, err, want, l)
		}
	}
	bad := law.Normal()
	bad.Own = ownScale()
	bad.Own.Linear[1] = math.Inf(1)
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "+Inf") {
		t.Errorf("error %v of an infinite coefficient", err)
	}
}

// TestLogScale: h(x) by hand, with a feature that is no number, one far outside and one without variation.
func TestLogScale(t *testing.T) {
	l := law.Normal()
	if h := l.LogScale(nil); h != 0 || l.Features() != 0 {
		t.Errorf("h(x) = %g of %d features without an own scale", h, l.Features())
	}
	l.Own = ownScale()
	by := func(u0, u1 float64) float64 {
		return 0.1*u0 - 0.2*u1 + 0.3*math.Tanh(u0-u1) - 0.4*math.Tanh(1+0.5*u1) - 0.05
	}
	near(t, "inside", l.LogScale([]float64{0.5, 2, 7}), by(0.5, 0.5), 1e-15)
	near(t, "not a number", l.LogScale([]float64{math.NaN(), 2, math.NaN()}), by(0, 0.5), 1e-15)
	near(t, "far outside", l.LogScale([]float64{1e300, 2, math.Inf(1)}), by(3, 0.5), 1e-15)
	l.Own.Lowest, l.Own.Highest = -0.1, 0.1
	near(t, "below the range", l.LogScale([]float64{-3, 7, 0}), -0.1, 0)
	near(t, "above the range", l.LogScale([]float64{3, -5, 0}), 0.1, 0)
}

// TestManyTerms: an own scale with more units than a fit makes is computed from the same formula.
func TestManyTerms(t *testing.T) {
	own := &law.OwnScale{Mean: []float64{1}, Inverse: []float64{2}, Linear: []float64{0.5}, Offset: 0.1, Lowest: -100, Highest: 100}
	want := 0.5*0.6 - 0.1
	for m := range 400 {
		slope := float64(m) / 100
		own.Inputs, own.Slopes = append(own.Inputs, 0, 0, 0), append(own.Slopes, slope, -1, 0)
		own.Bias, own.Output = append(own.Bias, 0.2), append(own.Output, 0.01)
		want += 0.01 * math.Tanh(0.2+(slope-1)*0.6)
	}
	l := law.Law{Family: law.Gaussian, Scale: 1, Own: own}
	near(t, "h(x)", l.LogScale([]float64{1.3}), want, 1e-12)
}
