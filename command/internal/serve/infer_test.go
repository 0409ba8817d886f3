package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answered decodes an answer of the protocol whose outputs are numbers.
type answered struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	ID           string `json:"id"`
	Outputs      []struct {
		Name     string          `json:"name"`
		Shape    []int           `json:"shape"`
		Datatype string          `json:"datatype"`
		Data     json.RawMessage `json:"data"`
	} `json:"outputs"`
}

func (a answered) numbers(t testing.TB, name string, shape ...int) []float64 {
	t.Helper()
	for _, o := range a.Outputs {
		if o.Name != name {
			continue
		}
		var v []float64
		if err := json.Unmarshal(o.Data, &v); err != nil || !slices.Equal(o.Shape, shape) || o.Datatype != "FP64" {
			t.Errorf("output %s: %s of shape %v, expected FP64 of shape %v; %v", name, o.Datatype, o.Shape, shape, err)
		}
		return v
	}
	t.Errorf("no output %s in %v", name, a.Outputs)
	return nil
}

// TestInfer: the answers are the model's predictions, whatever form the inputs have.
func TestInfer(t *testing.T) {
	r := start(t, nil)
	for _, inputs := range []string{
		`{"name":"a","shape":[2],"datatype":"FP64","data":[0.5,-1]},{"name":"b","shape":[2],"datatype":"INT32","data":[90,130]}`,
		`{"name":"b","shape":[2,1],"datatype":"FP32","data":[[90],[130]]},{"name":"a","shape":[2],"datatype":"FP64","data":[0.5,-1]},{"name":"other","shape":[2],"datatype":"BOOL","data":[true,false]}`,
		`{"name":"x","shape":[2,2],"datatype":"FP64","data":[0.5,90,-1,130]}`,
		`{"name":"any","shape":[2,2],"datatype":"FP64","data":[[0.5,90],[-1,130]]}`,
		`{"name":"a","shape":[2],"datatype":"BYTES","data":["0.5"," -1 "]},{"name":"b","shape":[2],"datatype":"INT32","data":[90,130]}`,
	} {
		for kind, targets := range map[string][]int{"numbers": {2}, "pairs": {2, 2}} {
			var got answered
			r.post("/v2/models/"+kind+"/infer", `{"id":"7","inputs":[`+inputs+`]}`, http.StatusOK, &got)
			want := r.predicted(kind, 0.5, 90, -1, 130)
			same(t, kind, got.numbers(t, "mean", targets...), want.Mean)
			same(t, kind, got.numbers(t, "std", targets...), want.Std())
			same(t, kind, got.numbers(t, "latent_std", targets...), want.LatentStd())
			if got.ID != "7" || got.ModelName != kind || got.ModelVersion == "" {
				t.Errorf("%s: answer of %q, version %q, id %q", kind, got.ModelName, got.ModelVersion, got.ID)
			}
		}
		var got answered
		r.post("/v2/models/classes/infer", `{"inputs":[`+inputs+`]}`, http.StatusOK, &got)
		want := r.predicted("classes", 0.5, 90, -1, 130)
		same(t, "probabilities", got.numbers(t, "probabilities", 2, 3), want.Probs)
		if class := string(got.Outputs[1].Data); class != fmt.Sprintf(`["%d","%d"]`, want.Best()[0], want.Best()[1]) {
			t.Errorf("classes %s, expected %v", class, want.Best())
		}
	}
}

// TestManyClasses: probabilities of many classes come from variances alone, and covariances and samples are there for those who ask.
func TestManyClasses(t *testing.T) {
	r := start(t, nil, "many")
	ask := func(rest string) (got answered) {
		r.post("/v2/models/many/infer", `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":[0.5,90,-1,130]}]`+rest+`}`, http.StatusOK, &got)
		return got
	}
	want := r.predicted("many", 0.5, 90, -1, 130).Probs
	got := ask("")
	same(t, "probabilities", got.numbers(t, "probabilities", 2, 105), want)
	got = ask(`,"outputs":[{"name":"covariance"},{"name":"samples"},{"name":"probabilities"}],"parameters":{"samples":20}`)
	same(t, "probabilities beside covariances", got.numbers(t, "probabilities", 2, 105), want)
	cov, c := got.numbers(t, "covariance", 2, 105, 105), 105
	for i := range c {
		if v := cov[i*c+i]; !(v > 0) || cov[i] != cov[i*c] {
			t.Errorf("output %d has the variance %g, and the covariances %g and %g with the first", i, v, cov[i], cov[i*c])
		}
	}
	if n := len(got.numbers(t, "samples", 2, 20, 105)); n != 2*20*105 {
		t.Errorf("%d numbers of samples", n)
	}
	got = ask(`,"outputs":[{"name":"probabilities"}],"parameters":{"link":"mc"}`)
	sum := 0.0
	for _, p := range got.numbers(t, "probabilities", 2, 105) {
		sum += p
	}
	if math.Abs(sum-2) > 1e-9 {
		t.Errorf("probabilities by samples of two rows add up to %g", sum)
	}
}

// TestOutputs: every output can be asked for, and is what its name says.
func TestOutputs(t *testing.T) {
	r := start(t, nil)
	x := `{"name":"x","shape":[1,2],"datatype":"FP64","data":[0.5,90]}`
	ask := func(kind, outputs string) (got answered) {
		r.post("/v2/models/"+kind+"/infer", `{"inputs":[`+x+`],"outputs":[`+outputs+`],"parameters":{"samples":2000,"seed":3}}`, http.StatusOK, &got)
		return got
	}
	p := r.predicted("pairs", 0.5, 90)
	got := ask("pairs", `{"name":"quantiles","parameters":{"levels":[0.5,0.975]}},{"name":"covariance"},{"name":"samples"},{"name":"epistemic_std"},{"name":"aleatoric_std"}`)
	std, q := p.Std(), got.numbers(t, "quantiles", 1, 2, 2)
	same(t, "medians", []float64{q[0], q[2]}, p.Mean)
	same(t, "97.5 %", []float64{q[1], q[3]}, []float64{p.Mean[0] + 1.959963984540054*std[0], p.Mean[1] + 1.959963984540054*std[1]})
	cov := got.numbers(t, "covariance", 1, 2, 2)
	same(t, "variances", []float64{cov[0], cov[3]}, p.Latent)
	same(t, "symmetry", cov[1:2], cov[2:3])
	mean, square := 0.0, 0.0
	for _, v := range got.numbers(t, "samples", 1, 2000, 2)[:] {
		mean, square = mean+v/4000, square+v*v/4000
	}
	if middle := (p.Mean[0] + p.Mean[1]) / 2; math.Abs(mean-middle) > 5*std[0]/math.Sqrt(2000) {
		t.Errorf("samples have the mean %g, expected %g", mean, middle)
	}
	if want := (p.Variance[0] + p.Mean[0]*p.Mean[0] + p.Variance[1] + p.Mean[1]*p.Mean[1]) / 2; math.Abs(square/want-1) > 0.1 {
		t.Errorf("samples have the mean square %g, expected %g", square, want)
	}
	got = ask("classes", `{"name":"samples"},{"name":"entropy"},{"name":"logits"},{"name":"covariance"},{"name":"class"},{"name":"probabilities"}`)
	for row := range slices.Chunk(got.numbers(t, "samples", 1, 2000, 3), 3) {
		if sum := row[0] + row[1] + row[2]; math.Abs(sum-1) > 1e-9 {
			t.Fatalf("a sample of probabilities sums to %g", sum)
		}
	}
	h := 0.0
	for _, p := range got.numbers(t, "probabilities", 1, 3) {
		h -= p * math.Log(p)
	}
	same(t, "entropy", got.numbers(t, "entropy", 1), []float64{h})
}

// TestBinary: tensors as bytes are those that JSON would have, in requests and in answers.
func TestBinary(t *testing.T) {
	r := start(t, nil)
	var tail []byte
	for _, v := range []float64{0.5, -1} {
		tail = binary.LittleEndian.AppendUint64(tail, math.Float64bits(v))
	}
	for _, v := range []float32{90, 130} {
		tail = binary.LittleEndian.AppendUint32(tail, math.Float32bits(v))
	}
	head := `{"inputs":[{"name":"a","shape":[2],"datatype":"FP64","parameters":{"binary_data_size":16}},{"name":"b","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}],
		"parameters":{"binary_data_output":true},"outputs":[{"name":"mean"},{"name":"std","parameters":{"binary_data":false}}]}`
	a, body := r.send(http.MethodPost, "/v2/models/numbers/infer", "application/octet-stream", append([]byte(head), tail...), headerLength, strconv.Itoa(len(head)))
	n, err := strconv.Atoi(a.Header.Get(headerLength))
	if err != nil || a.StatusCode != http.StatusOK || n > len(body) {
		t.Fatalf("status %d, length %q: %s", a.StatusCode, a.Header.Get(headerLength), body)
	}
	var got answered
	if err := json.Unmarshal(body[:n], &got); err != nil {
		t.Fatal(err)
	}
	want := r.predicted("numbers", 0.5, 90, -1, 130)
	var mean []float64
	for b := range slices.Chunk(body[n:], 8) {
		mean = append(mean, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	same(t, "mean", mean, want.Mean)
	same(t, "std", got.numbers(t, "std", 2), want.Std())
}

// TestDecode: the numbers of all datatypes.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		raw  []byte
		want float64
	}{
		"BOOL": {[]byte{1}, 1}, "UINT8": {[]byte{200}, 200}, "INT8": {[]byte{200}, -56}, "UINT16": {[]byte{1, 255}, 65281},
		"INT16": {[]byte{1, 255}, -255}, "UINT32": {[]byte{0, 0, 0, 255}, 4278190080}, "INT32": {[]byte{0, 0, 0, 255}, -16777216},
		"UINT64": {[]byte{0, 0, 0, 0, 0, 0, 0, 128}, 1 << 63}, "INT64": {[]byte{0, 0, 0, 0, 0, 0, 0, 128}, -1 << 63},
		"FP16": {[]byte{0, 0xc1}, -2.5}, "FP32": {[]byte{0, 0, 32, 192}, -2.5}, "FP64": {[]byte{0, 0, 0, 0, 0, 0, 4, 192}, -2.5},
	} {
		if got := datatypes[name].read(c.raw); got != c.want || len(c.raw) != datatypes[name].width {
			t.Errorf("%s: %g, expected %g", name, got, c.want)
		}
	}
	for name, in := range map[string]inputTensor{
		"gRPC":   {Name: "a", Shape: []int{2}, Datatype: "INT8", typed: &cells{numbers: []float64{1, 300}}},
		"binary": {Name: "a", Shape: []int{2}, Datatype: "BOOL", raw: []byte{1, 20}},
	} {
		if _, err := in.cells(2); err == nil || !strings.HasPrefix(err.Error(), `input "a": element 1 is`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for bits, want := range map[uint16]float64{0: 0, 1: math.Ldexp(1, -24), 0x7bff: 65504, 0xfc00: math.Inf(-1), 0x3c00: 1, 0x0400: math.Ldexp(1, -14)} {
		if got := datatypes["FP16"].read(binary.LittleEndian.AppendUint16(nil, bits)); got != want {
			t.Errorf("half %#x: %g, expected %g", bits, got, want)
		}
	}
	if !math.IsNaN(datatypes["FP16"].read([]byte{0x00, 0x7e})) {
		t.Error("half NaN is a number")
	}
	words, err := inputTensor{raw: []byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0}, Datatype: "BYTES"}.cells(2)
	if err != nil || !slices.Equal(words.words, []string{"ab", ""}) {
		t.Errorf("words %q, error %v", words.words, err)
	}
}

// FuzzInfer: no body makes the parser fail in another way than by an error.
func FuzzInfer(f *testing.F) {
	f.Add([]byte(`{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[1]}]}`), 0)
	f.Add([]byte(`{"inputs":[{"name":"a","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`+"\x01\x00\x00\x00x"), 92)
	f.Add([]byte(`{"inputs":[{"name":"a","shape":[9999999999,9999999999],"datatype":"FP64","data":[[[1]]]}]}`), 0)
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		r, err := parseInfer(body, length)
		if err != nil {
			return
		}
		for _, in := range r.Inputs {
			n, err := in.size(1000)
			if err != nil {
				continue
			}
			if c, err := in.cells(n); err == nil && c.len() != n {
				t.Errorf("%d cells of %d", c.len(), n)
			}
		}
	})
}

// TestPlain: rows as objects, lists and CSV.
func TestPlain(t *testing.T) {
	r := start(t, nil)
	want := r.predicted("numbers", 0.5, 90, -1, 130)
	lower, upper, err := want.Interval(0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`[{"a":0.5,"b":90},{"b":"130","a":-1,"more":[1]}]`, `{"rows":[{"a":0.5,"b":90},{"b":130,"a":-1}]}`, `{"rows":[[0.5,90],[-1,130]]}`,
	} {
		var got struct {
			Predictions []map[string]float64 `json:"predictions"`
		}
		r.post("/models/numbers/predict?level=0.5", body, http.StatusOK, &got)
		for i, p := range got.Predictions {
			same(t, body, []float64{p["mean"], p["std"], p["lower"], p["upper"]}, []float64{want.Mean[i], want.Std()[i], lower[i], upper[i]})
		}
		if len(got.Predictions) != 2 {
			t.Errorf("%s: %d predictions", body, len(got.Predictions))
		}
	}
	var one struct {
		Predictions []map[string]any `json:"predictions"`
	}
	r.post("/predict?model=classes", `{"a":0.5,"b":90}`, http.StatusOK, &one)
	if p := r.predicted("classes", 0.5, 90); len(one.Predictions) != 1 || one.Predictions[0]["class"] != strconv.Itoa(p.Best()[0]) {
		t.Errorf("answer %v, expected class %d", one, p.Best()[0])
	}
}

// A column may have the name rows. Other keys beside a list of rows are refused, because names of columns would give its values
// another order.
func TestRowList(t *testing.T) {
	for body, want := range map[string]int{`[[1],[2]]`: 2, `{"rows":[[1],[2],[3]]}`: 3, `{"Rows":[1],"a":2}`: 1, `{"rows":7,"a":2}`: 1} {
		list, err := rowList([]byte(body))
		if err != nil || len(list) != want {
			t.Errorf("%s: %d rows, error %v, want %d rows", body, len(list), err, want)
		}
	}
	for body, want := range map[string]string{`{"columns":["b","a"],"rows":[[1,2]]}`: `"columns" beside "rows"`, ``: "empty", `{"rows":[1}`: "invalid"} {
		if _, err := rowList([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", body, err, want)
		}
	}
}

// TestPlainText: a table may have any separator that a file may have, and whatever type the program
// gives that sends it.
func TestPlainText(t *testing.T) {
	r := start(t, func(o *Options) { o.MaxRows = 2 }, "pairs")
	p := r.predicted("pairs", 0.5, 90)
	want := fmt.Sprintf("%g,%g,", p.Mean[0], p.Std()[0])[:12]
	for _, c := range []struct{ kind, body string }{
		{"text/csv", "\ufeffb,a\r\n90,0.5\r\n"}, {"text/csv; charset=utf-8", "b;a\n90;0.5"}, {"text/csv", "b|a\n90|0.5"},
		{"text/tab-separated-values", "b\tmore\ta\n90\tx, y\t0.5\n"}, {"text/csv", "\"b\",\"a\"\n\"90\",\" 0.5\"\n"},
		{"application/x-www-form-urlencoded", "b;a\n90;0.5"}, {"", "b,a\n90,0.5"},
	} {
		a, body := r.send(http.MethodPost, "/predict", c.kind, []byte(c.body), "Accept", "text/csv")
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		if a.StatusCode != http.StatusOK || len(lines) != 2 || a.Header.Get("X-Model-Version") == "" ||
			!strings.HasPrefix(lines[0], "mean_y,std_y,lower_y,upper_y,epistemic_y,aleatoric_y,mean_z,") || !strings.HasPrefix(lines[1], want) {
			t.Errorf("%s %q: status %d: %s, expected %s", c.kind, c.body, a.StatusCode, body, want)
		}
	}
	if a, body := r.send(http.MethodPost, "/predict", "text/csv", []byte("a,b\n1,2\n3,4\n5,6")); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("three rows: status %d: %s", a.StatusCode, body)
	}
	if a, body := r.send(http.MethodPost, "/predict?header=no", "text/csv", []byte("a,b\n1,2")); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a header that is none: status %d: %s", a.StatusCode, body)
	}
}
