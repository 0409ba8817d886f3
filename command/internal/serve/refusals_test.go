package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRefusals: each request that cannot be answered gets a status and one sentence that
// names what is wrong.
func TestRefusals(t *testing.T) {
	r := start(t, func(o *Options) { o.MaxRows, o.MaxBytes = 3, 2000 })
	infer := func(inputs string) string { return `{"inputs":[` + inputs + `]}` }
	a, b := `{"name":"a","shape":[1],"datatype":"FP64","data":[1]}`, `{"name":"b","shape":[1],"datatype":"FP64","data":[1]}`
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v2/models/none/infer", infer(a), 404, `model "none", expected one of "numbers", "pairs", "classes"`},
		{"/v2/models/numbers/versions/1/infer", infer(a), 404, `model "numbers" has the version`},
		{"/v2/models/numbers/infer", ``, 400, "the request is no JSON of the inference protocol"},
		{"/v2/models/numbers/infer", infer(""), 400, `no inputs, expected an input of shape [n] for each of "a", "b"`},
		{"/v2/models/numbers/infer", infer(a), 400, `no column "b"`},
		{"/v2/models/numbers/infer", infer(a + "," + a), 400, `input "a" is there twice`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[2],"datatype":"FP64","data":[1,2]}`), 400, `request: column "b" has 2 rows, expected 1 as column "a"`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"FP64","data":[1,2]}`), 400, `input "b": 2 elements, expected 1 by its shape [1]`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"FP64","data":["x"]}`), 400, `input "b": element 0 is x, expected a number`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"BYTES","data":["x"]}`), 400, `row 0 (counting from 0), column "b": expected a number, found "x"`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"BYTES","data":["1_0"]}`), 400, `expected a number, found "1_0"`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"COMPLEX","data":[1]}`), 400, `input "b": datatype "COMPLEX"`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[4],"datatype":"FP64","data":[1,2,3,4]}`), 400, `input "b": shape [4], expected at most 3 elements`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[4,2],"datatype":"FP64","data":[1]}`), 413, "4 rows, expected at most 3 in a request"},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[1,3],"datatype":"FP64","data":[1,2,3]}`), 400, `input "x": FP64 of shape [1 3], expected an input of shape [n]`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[9999999999,9999999999],"datatype":"FP64","data":[1]}`), 413, "9999999999 rows"},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[-1,-2],"datatype":"FP64","data":[1,2]}`), 400, "shape [-1 -2]"},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[0,2],"datatype":"FP64","data":[]}`), 400, "shape [0 2]"},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"outputs":[{"name":"mode"}]}`, 400, `output "mode", expected one of "mean", "std"`},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"outputs":[{"name":"quantiles","parameters":{"levels":[1.5]}}]}`, 400, `quantiles: levels "1.5", expected a probability between 0 and 1`},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"outputs":[{"name":"samples","parameters":{"samples":-1}}]}`, 400, "parameter samples is -1"},
		{"/v2/models/classes/infer", `{"inputs":[` + a + `,` + b + `],"parameters":{"link":5}}`, 400, "parameter link is 5, expected a text"},
		{"/v2/models/classes/infer", `{"inputs":[` + a + `,` + b + `],"parameters":{"link":"mc","seed":"seven"}}`, 400, "parameter seed is seven, expected a whole number"},
		{"/v2/models/classes/infer", `{"inputs":[` + a + `,` + b + `],"parameters":{"link":"logit"}}`, 400, `link "logit", expected "probit", "mc"`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[1,2],"datatype":"FP64","data":[1,1e999]}`), 400, `input "x": element 1 is 1e999, expected a finite number`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"INT32","data":[5.7]}`), 400, `input "b": element 0 is 5.7, expected INT32, a whole number from -2147483648 to 2147483647`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[1,2],"datatype":"UINT8","data":[[3,-110]]}`), 400, `input "x": element 1 is -110, expected UINT8, a whole number from 0 to 255`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[1,2],"datatype":"UINT64","data":[null,1e30]}`), 400, `input "x": element 1 is 1e+30, expected UINT64, a whole number from 0 to 18446744073709551615`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"BOOL","data":[20]}`), 400, `input "b": element 0 is 20, expected BOOL, a whole number from 0 to 1`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"FP32","data":[1e300]}`), 400, `input "b": element 0 is 1e+300, expected FP32, a number from -3.4028234663852886e+38 to 3.4028234663852886e+38`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"FP64","data":[{}]}`), 400, `input "b": element 0 is {}, expected a number`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"FP64","data":[NaN]}`), 400, `found NaN or Infinity, which JSON does not have; null stands for a missing value`},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"outputs":[{"name":"quantiles","parameters":{"level":[0.1]}}]}`, 400, `output "quantiles": parameter "level", expected one of "levels", "binary_data", "content_type"; did you mean levels?`},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"outputs":[{"name":"mean","parameters":{"level":0.1}}]}`, 400, `output "mean": parameter "level", expected one of "binary_data", "content_type"`},
		{"/v2/models/numbers/infer", `{"inputs":[` + a + `,` + b + `],"parameters":{"sample":7}}`, 400, `parameter "sample", expected one of`},
		{"/v2/models/numbers/infer?level=0.9", infer(a + "," + b), 400, `parameter "level", expected no parameters in this address`},
		{"/models/numbers/predict?levl=0.9", `[[1,2]]`, 400, `parameter "levl", expected one of "level", "quantiles", "above", "link", "header"; did you mean level?`},
		{"/models/numbers/predict?level=0.9&level=0.5", `[[1,2]]`, 400, `parameter "level" has 2 values, expected one`},
		{"/models/numbers/predict?model=pairs", `[[1,2]]`, 400, `parameter "model", expected one of`},
		{"/predict?modle=pairs", `[[1,2]]`, 400, `parameter "modle", expected one of "model", "level", "quantiles", "above", "link", "header"; did you mean model?`},
		{"/outcomes?models=pairs", `[]`, 400, `parameter "models", expected "model"; did you mean model?`},
		{"/models/numbers/predict", `[{"a":1,"b":1e400}]`, 400, `row 0 (counting from 0), column "b": expected a finite number, found 1e400`},
		{"/models/numbers/predict", `[[1,2],[-1e400,2]]`, 400, `row 1 (counting from 0), column "a": expected a finite number, found -1e400`},
		{"/models/numbers/predict", `[{"a":1,"b":{}}]`, 400, `column "b": expected a number, a text, true, false or null, found {}`},
		{"/models/numbers/predict", `[{"a":1,"b":NaN}]`, 400, `found NaN or Infinity, which JSON does not have; null stands for a missing value`},
		{"/models/numbers/predict", `{"rows":[[1,-Infinity]]}`, 400, `found NaN or Infinity, which JSON does not have; null stands for a missing value`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[1,2],"datatype":"FP64","data":[1,null]}`), 400, `feature "b": expected a finite number, found NaN`},
		{"/v2/models/numbers/infer", infer(a + `,{"name":"b","shape":[1],"datatype":"INT32","data":[null]}`), 400, `column "b": expected a finite number`},
		{"/v2/models/numbers/infer", infer(`{"name":"x","shape":[null,2],"datatype":"FP64","data":[]}`), 400, "shape [0 2]"},
		{"/v2/models/numbers/infer", strings.Repeat(" ", 3000), 413, "the body is larger than 2000 bytes"},
		{"/predict", `[{"a":1,"b":1}]`, 404, `model "", expected one of`},
		{"/models/numbers/predict", `[{"a":1}]`, 400, `row 0 (counting from 0) has no column "b"`},
		{"/models/numbers/predict", `[{"a":1,"b":null}]`, 400, `row 0 (counting from 0), column "b": expected a number, found ""`},
		{"/models/numbers/predict", `[[1,null]]`, 400, `row 0 (counting from 0), column "b": expected a number, found ""`},
		{"/models/numbers/predict", `[{"a":1,"b":1},7]`, 400, "row 1 (counting from 0): expected an object of columns, found 7"},
		{"/models/numbers/predict", `[[1]]`, 400, "row 0 (counting from 0)"},
		{"/models/numbers/predict", `[]`, 400, "no rows"},
		{"/models/numbers/predict", `[1,2,3,4]`, 413, "4 rows"},
		{"/models/numbers/predict?level=2", `[[1,2]]`, 400, `level "2", expected a probability between 0 and 1`},
		{"/models/numbers/predict?level=0.9,0.5", `[[1,2]]`, 400, "level: 2 numbers, expected 1"},
		{"/models/numbers/predict?quantiles=0.05;0.5", `[[1,2]]`, 400, "the parameters of the address: invalid semicolon"},
		{"/models/numbers/predict", `[{"a":1,"b":[2]}]`, 400, `row 0 (counting from 0), column "b": expected a number, a text, true, false or null, found [2]`},
		{"/models/numbers/predict", `[[1,2],[1,{"a":3}]]`, 400, `row 1 (counting from 0), column "b": expected a number, a text, true, false or null, found {"a":3}`},
		{"/models/numbers/predict", `a,b`, 400, "expected JSON"},
	} {
		var got failure
		r.post(c.path, c.body, c.status, &got)
		has(t, c.path+" "+c.body, got.Error, c.want)
	}
	for body, want := range map[string]string{
		"": "the body is an empty file", "a,b\n1": "request:2: expected 2 cells, found 1", "a,a\n1,2": `request: two columns are called "a"`,
		"a;b\n": "request: no rows", "a,b\n1,x": `request:2: column "b": expected a number, found "x"`, "a\n1": `request: no column "b"`,
		"Bonn": `request: no rows; the first row was taken for names: ?header=no reads it as values`, "a": `request: no rows, and no column "b"`,
		"Bonn,90":      `request: no rows; the first row was taken for names: ?header=no reads it as values`,
		"Bonn,x\n1,2":  `?header=no reads it as values`,
		"a\tb\n1\tNaN": `request:2: column "b": expected a finite number, found "NaN"`, "\x1f\x8b\x08": "the body is a gzip file, expected a table of text",
	} {
		a, text := r.send(http.MethodPost, "/models/numbers/predict", "text/csv", []byte(body))
		var got failure
		if err := json.Unmarshal(text, &got); err != nil || a.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: status %d, %s", body, a.StatusCode, text)
		}
		has(t, body, got.Error, want)
	}
	for name, c := range map[string]struct{ body, length, want string }{
		"beyond the body": {`{}`, "10", "expected at most the 2 bytes"},
		"no number":       {`{}`, "x", "expected a number of bytes"},
		"left over":       {`{}xx`, "2", "2 bytes after the last tensor"},
		"too few":         {`{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","parameters":{"binary_data_size":9}}]}`, "90", "binary_data_size 9, expected at most the"},
		"other size":      {`{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","parameters":{"binary_data_size":2}}]}xx`, "89", "2 bytes, expected 8 for 1 elements of FP64"},
	} {
		if name == "too few" || name == "other size" {
			c.length = fmt.Sprint(strings.LastIndexByte(c.body, '}') + 1)
		}
		a, text := r.send(http.MethodPost, "/v2/models/numbers/infer", "application/octet-stream", []byte(c.body), headerLength, c.length)
		var got failure
		if err := json.Unmarshal(text, &got); err != nil || a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d, %s", name, a.StatusCode, text)
		}
		has(t, name, got.Error, c.want)
	}
}

// TestTokens: without a known token nothing but the health and the empty form is shown.
func TestTokens(t *testing.T) {
	r := start(t, func(o *Options) { o.Tokens = []string{"first", "second"} }, "numbers")
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"GET", "/v2/health/live", "", 200}, {"GET", "/v2/health/ready", "", 200}, {"GET", "/", "", 200}, {"GET", "/page.js", "", 200},
		{"GET", "/v2", "", 401}, {"GET", "/metrics", "", 401}, {"GET", "/v2/models/numbers", "Bearer third", 401},
		{"POST", "/predict", "", 401}, {"POST", "/predict", "Basic first", 401}, {"POST", "/predict", "first", 401}, {"POST", "/predict", "bearer first", 200}, {"POST", "/v2/models/numbers/infer", "Bearer ", 401},
		{"POST", "/predict", "Bearer first", 200}, {"POST", "/predict", "Bearer second", 200}, {"GET", "/metrics", "Bearer second", 200},
		{"GET", "/debug/pprof/", "Bearer first", 404},
	} {
		a, body := r.send(c.method, c.path, "application/json", []byte(`[[1,100]]`), "Authorization", c.header)
		if a.StatusCode != c.status {
			t.Errorf("%s %s with %q: status %d, expected %d: %s", c.method, c.path, c.header, a.StatusCode, c.status, body)
		}
	}
}

// TestBadModels: a server does not start with models that it cannot answer for.
func TestBadModels(t *testing.T) {
	good := t.TempDir() + "/good.valla"
	trained(t, "numbers", good, 1)
	for want, models := range map[string][]Source{
		"serve: no models":                             nil,
		`two models are called "m"`:                    {{"m", good}, {"m", good}},
		"serve: open /none.valla":                      {{"m", "/none.valla"}},
		"serve: " + t.TempDir()[:4]:                    {{"m", t.TempDir()}},
		`two models are called "", or that is no name`: {{"", good}},
	} {
		s, err := New(Options{Models: models})
		if err == nil {
			err = s.Load(t.Context())
			s.Close()
		}
		if err == nil {
			t.Errorf("%s: no error", want)
		} else {
			has(t, want, err.Error(), want)
		}
	}
}

// TestNoSuchAddress: an address or a method that the server does not have is refused by JSON, as everything else is.
func TestNoSuchAddress(t *testing.T) {
	r := start(t, nil, "numbers")
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/predictions", 404, "no address /predictions"},
		{"POST", "/v3", 404, "no address /v3"},
		{"GET", "/predict", 405, "method GET, expected POST"},
		{"DELETE", "/v2", 405, "method DELETE, expected GET, HEAD"},
	} {
		a, text := r.send(c.method, c.path, "", nil)
		var got failure
		if err := json.Unmarshal(text, &got); err != nil || a.StatusCode != c.status || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: status %d, %s", c.method, c.path, a.StatusCode, text)
		}
		has(t, c.path, got.Error, c.want)
		if allow := a.Header.Get("Allow"); (c.status == 405) != (allow != "") {
			t.Errorf("%s %s: the header Allow is %q", c.method, c.path, allow)
		}
	}
}
