package command_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/serve/oip"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/ram"
)

// serverMemory is the memory of the server under test in bytes.
const serverMemory = 512 << 20

// asked is a server with the models m, a regression of the columns a and b, and k, a classification of 100 classes.
type asked struct {
	*served
	inference oip.GRPCInferenceServiceClient // client of gRPC
	model     *valla.Model                   // the model m
	peak      func() int64                   // most bytes that the server has taken, and 0 if the system does not tell
}

// bounded starts a server that has serverMemory.
func bounded(t *testing.T) *asked {
	t.Helper()
	dir := fitted(t)
	var csv strings.Builder
	csv.WriteString("a,b,kind\n")
	for i := range 400 {
		fmt.Fprintf(&csv, "%d,%d,k%d\n", i%20, i%7, i%100)
	}
	if err := os.WriteFile(filepath.Join(dir, "kinds.csv"), []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "train", "kinds.csv", "--target", "kind", "--classes", "--hidden", "4", "--iterations", "10", "--out", "k.valla")
	m, err := valla.Load(filepath.Join(dir, "m.valla"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMEMLIMIT", fmt.Sprint(serverMemory))
	s := &asked{served: serving(t, dir, "--outcomes", t.TempDir(), "--model", "m.valla", "--model", "k.valla", "--grpc", "127.0.0.1:0", "--log", "off", "--timeout", "60s"), model: m}
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := grpc.NewClient(strings.TrimPrefix(strings.TrimSpace(line), "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s.inference = oip.NewGRPCInferenceServiceClient(c)
	status := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)
	s.peak = func() int64 {
		kib, _ := ram.Field(status, "VmHWM:")
		return kib << 10
	}
	return s
}

// small checks that the server has stayed within its memory.
func (s *asked) small(t *testing.T) {
	t.Helper()
	if peak := s.peak(); peak > serverMemory {
		t.Errorf("the server takes %d MiB, expected at most %d", peak>>20, serverMemory>>20)
	} else {
		t.Logf("the server takes at most %d MiB", peak>>20)
	}
}

// post sends a request, with a header if there is one, and returns its status and its answer.
func (s *asked) post(path, kind string, body []byte, header ...string) (int, []byte, error) {
	q, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Content-Type", kind)
	if len(header) > 0 {
		q.Header.Set(header[0], header[1])
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return a.StatusCode, text, err
}

// beside asks for a prediction again and again, which must always be right, until the returned function is called.
func (s *asked) beside(t *testing.T) (stop func()) {
	p, err := s.model.Predict(t.Context(), matrix([]float64{0.5, 90}, 1, 2), valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	right, busy := 0, 0
	work.Go(func() {
		for ctx.Err() == nil {
			status, text, err := s.post("/models/m/predict", "application/json", []byte(`[{"a":0.5,"b":90}]`))
			if status == http.StatusTooManyRequests {
				busy++
				continue
			}
			var got struct{ Predictions []map[string]float64 }
			if err == nil {
				err = json.Unmarshal(text, &got)
			}
			if err != nil || status != http.StatusOK || math.Abs(got.Predictions[0]["std"]-p.Std()[0]) > 1e-9 || math.Abs(got.Predictions[0]["mean"]-p.Mean[0]) > 1e-9 {
				t.Errorf("beside: status %d, error %v: %.300s", status, err, text)
				return
			}
			right++
		}
	})
	return func() {
		cancel()
		work.Wait()
		t.Logf("beside: %d right answers, %d with status 429", right, busy)
		if right == 0 {
			t.Error("no other client got an answer")
		}
	}
}

// huge is a small or legal request whose answer, or whose text, would take much memory.
type huge struct {
	name, path, kind string
	body             func() string
	want             int // status
}

// hugeRequests are the requests of TestHugeRequests.
func hugeRequests() []huge {
	const most = 16<<20 - 100 // bytes of a body
	x := func(n int) string {
		return fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP64","data":[%s]}]`, n, strings.TrimSuffix(strings.Repeat("1,", 2*n), ","))
	}
	list := func(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	fill := func(s string) string { return list(s, most/(len(s)+1)) }
	const infer, classes, rows = "/v2/models/m/infer", "/v2/models/k/infer", "/models/m/predict"
	refused, large := http.StatusBadRequest, http.StatusRequestEntityTooLarge
	return []huge{
		{"samples named 300 times", infer, "", func() string {
			return x(139) + `,"parameters":{"samples":10000},"outputs":[` + list(`{"name":"samples"}`, 300) + `]}`
		}, refused},
		{"covariance named 12,000 times", infer, "", func() string { return x(10000) + `,"outputs":[` + list(`{"name":"covariance"}`, 12000) + `]}` }, refused},
		{"1,390,000 samples", infer, "", func() string { return x(139) + `,"parameters":{"samples":10000},"outputs":[{"name":"samples"}]}` }, large},
		{"samples of 100 classes", classes, "", func() string { return x(40) + `,"parameters":{"samples":10000},"outputs":[{"name":"samples"}]}` }, large},
		{"covariances of 100 classes", classes, "", func() string { return x(10000) + `,"outputs":[{"name":"covariance"}]}` }, large},
		{"the usual answer for 100 classes", classes, "", func() string { return x(10000) + `}` }, large},
		{"100 quantiles of 10,000 rows", infer, "", func() string {
			return x(10000) + `,"outputs":[{"name":"quantiles","parameters":{"levels":[` + list("0.5", 100) + `]}}]}`
		}, large},
		{"100 quantiles of 10,000 rows of a table", rows + "?quantiles=" + list("0.5", 100), "text/csv", func() string { return "a,b\n" + strings.Repeat("1,2\n", 10000) }, large},
		{"a list of numbers", rows, "application/json", func() string { return "[" + fill("1") + "]" }, large},
		{"a list of lists", rows, "application/json", func() string { return "[" + fill("[]") + "]" }, large},
		{"objects in objects", infer, "", func() string { return `{"parameters":{` + fill(`"":{}`) + `}}` }, large},
		{"empty outputs", infer, "", func() string { return `{"outputs":[` + fill(`{}`) + `]}` }, large},
		{"words in a tensor", infer, "", func() string {
			return `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","data":[` + fill(`""`) + `]}]}`
		}, large},
		{"a table of columns", rows, "text/csv", func() string { return fill("a") + "\n" }, large},
		{"a table of lines", rows, "text/csv", func() string { return "a,b\n" + strings.Repeat("\n", most) }, large},
		{"labels", "/models/m/outcomes", "application/json", func() string { return "[" + fill(`{"a":1}`) + "]" }, large},
		{"brackets", infer, "", func() string { return `{"parameters":` + strings.Repeat("[", most) }, large},
	}
}

// TestHugeRequests: requests that would take much memory are refused at once, while other clients get right answers, and the
// server stays within its memory.
func TestHugeRequests(t *testing.T) {
	s := bounded(t)
	stop := s.beside(t)
	var work sync.WaitGroup
	var slowest, cut atomic.Int64
	for _, h := range hugeRequests() {
		work.Go(func() {
			body := []byte(h.body())
			for range 3 {
				start := time.Now()
				status, text, err := s.post(h.path, h.kind, body)
				slowest.Store(max(slowest.Load(), int64(time.Since(start))))
				if status == http.StatusTooManyRequests {
					continue
				}
				if err != nil && strings.Contains(err.Error(), "connection") { // the server has refused the body before all of it was sent
					cut.Add(1)
					continue
				}
				if err != nil || status != h.want {
					t.Errorf("%s: status %d, expected %d: %.200s; error %v", h.name, status, h.want, text, err)
				}
			}
		})
	}
	work.Go(func() { s.emptyInputs(t) })
	work.Wait()
	stop()
	t.Logf("the slowest answer took %v; %d requests were cut off", time.Duration(slowest.Load()), cut.Load())
	s.small(t)
}

// emptyInputs sends a message of gRPC that holds eight million empty inputs.
func (s *asked) emptyInputs(t *testing.T) {
	in := make([]*oip.ModelInferRequest_InferInputTensor, 8<<20-100)
	empty := &oip.ModelInferRequest_InferInputTensor{}
	for i := range in {
		in[i] = empty
	}
	_, err := s.inference.ModelInfer(t.Context(), &oip.ModelInferRequest{ModelName: "m", Inputs: in})
	if err == nil || !strings.Contains(err.Error(), "of memory, expected at most") && !strings.Contains(err.Error(), "other requests need the memory") {
		t.Errorf("empty inputs: %v", err)
	}
}

// TestRandomRequests: valid requests of all forms are answered rightly, and damaged requests are refused, while another
// client asks. There are 300 requests, or 100,000 in long tests.
func TestRandomRequests(t *testing.T) {
	s, n := bounded(t), 300
	if fixture.Long() {
		n = 100_000
	}
	stop := s.beside(t)
	var work sync.WaitGroup
	var statuses [600]atomic.Int64
	for worker := range 4 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(worker)))
			for i := 0; i < n/4 && !t.Failed(); i++ {
				statuses[s.random(t, rng)].Add(1)
			}
		})
	}
	work.Wait()
	stop()
	for status := range statuses {
		if count := statuses[status].Load(); count > 0 {
			t.Logf("status %d: %d", status, count)
		}
	}
	s.small(t)
}

// random sends one random request and returns its status, or its code of gRPC. An intact request has to be answered rightly.
func (s *asked) random(t *testing.T, rng *rand.Rand) int {
	rows := make([]float64, 2*(1+rng.IntN(4)))
	for i := range rows {
		rows[i] = math.Round(1e4*(6*rng.Float64()-3)) / 1e4
	}
	form, intact := rng.IntN(6), rng.IntN(2) == 0
	if form == formGRPC {
		return s.randomMessage(t, rows, intact, rng)
	}
	path, kind, body, header := formed(rows, form)
	if !intact {
		path, body = damagedRequest(path, body, rng)
	}
	status, text, err := s.post(path, kind, body, header...)
	if err != nil || status >= 500 || intact && status != http.StatusOK && status != http.StatusTooManyRequests {
		t.Errorf("POST %q %q: status %d, error %v: %.300s", path, body, status, err, text)
	}
	if intact && status == http.StatusOK {
		s.check(t, rows, meansIn(t, text))
	}
	return status
}

// formBinary and formGRPC are two of the six forms of requests.
const formBinary, formGRPC = 4, 5

// raw returns the elements of rows of two columns as FP64 in bytes.
func raw(rows []float64) (out []byte) {
	for _, v := range rows {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// binaryRequest returns a request whose tensor follows the JSON as bytes.
func binaryRequest(rows []float64) (body []byte, header []string) {
	tensor := raw(rows)
	head := fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP64","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"mean"}]}`, len(rows)/2, len(tensor))
	return append([]byte(head), tensor...), []string{"Inference-Header-Content-Length", fmt.Sprint(len(head))}
}

// randomMessage sends one random request by gRPC, of which half have raw contents, and returns its code.
func (s *asked) randomMessage(t *testing.T, rows []float64, intact bool, rng *rand.Rand) int {
	in := &oip.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "FP64", Shape: []int64{int64(len(rows) / 2), 2}}
	r := &oip.ModelInferRequest{ModelName: "m", Inputs: []*oip.ModelInferRequest_InferInputTensor{in}, Outputs: []*oip.ModelInferRequest_InferRequestedOutputTensor{{Name: "mean"}}}
	if rng.IntN(2) == 0 {
		r.RawInputContents = [][]byte{raw(rows)}
	} else {
		in.Contents = &oip.InferTensorContents{Fp64Contents: rows}
	}
	if !intact {
		damageMessage(r, rng)
	}
	a, err := s.inference.ModelInfer(t.Context(), r)
	code := status.Code(err)
	switch code {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted:
	default:
		t.Errorf("by gRPC %v: %v", r, err)
	}
	if intact && code == codes.OK {
		means := a.Outputs[0].Contents.GetFp64Contents()
		for i := 0; a.RawOutputContents != nil && i < len(a.RawOutputContents[0]); i += 8 {
			means = append(means, math.Float64frombits(binary.LittleEndian.Uint64(a.RawOutputContents[0][i:])))
		}
		s.check(t, rows, means)
	} else if intact && code != codes.ResourceExhausted {
		t.Errorf("by gRPC %v: %v", r, err)
	}
	return int(code)
}

// damageMessage changes a request of gRPC.
func damageMessage(r *oip.ModelInferRequest, rng *rand.Rand) {
	in := r.Inputs[0]
	switch rng.IntN(7) {
	case 0:
		in.Shape[rng.IntN(2)] = []int64{-1, 0, 3, 1 << 40, math.MaxInt64, math.MinInt64}[rng.IntN(6)]
	case 1:
		in.Datatype = []string{"", "BYTES", "INT64", "FP16", "BOOL", "COMPLEX"}[rng.IntN(6)]
	case 2:
		r.RawInputContents = append(r.RawInputContents, make([]byte, rng.IntN(100)))
	case 3:
		if len(r.RawInputContents) > 0 {
			r.RawInputContents[0] = r.RawInputContents[0][:rng.IntN(8)]
		}
		in.Contents = nil
	case 4:
		name := []string{"samples", "seed", "level", "levels"}[rng.IntN(4)]
		r.Parameters = map[string]*oip.InferParameter{name: {ParameterChoice: &oip.InferParameter_Int64Param{Int64Param: []int64{-1, 0, 1 << 40, math.MaxInt64}[rng.IntN(4)]}}}
		r.Outputs[0].Name = []string{"samples", "quantiles", "interval", "nothing"}[rng.IntN(4)]
	case 5:
		r.ModelName, r.ModelVersion = []string{"", "k", "nobody"}[rng.IntN(3)], []string{"", "1"}[rng.IntN(2)]
	default:
		r.Inputs = append(r.Inputs, in, in)
	}
}

// formed returns a request of HTTP for rows of two columns, in one of five forms.
func formed(rows []float64, form int) (path, kind string, body []byte, header []string) {
	n := len(rows) / 2
	pairs, objects, columns, lines := make([][]float64, n), make([]map[string]float64, n), [2][]float64{}, "a,b\n"
	for i := range n {
		a, b := rows[2*i], rows[2*i+1]
		pairs[i], objects[i], lines = []float64{a, b}, map[string]float64{"a": a, "b": b}, lines+fmt.Sprintf("%g,%g\n", a, b)
		columns[0], columns[1] = append(columns[0], a), append(columns[1], b)
	}
	var v any
	switch path, kind = "/models/m/predict", "application/json"; form {
	case 0:
		v = map[string]any{"rows": pairs}
	case 1:
		v = objects
	case 2:
		return path, "text/csv", []byte(lines), nil
	case formBinary:
		body, header = binaryRequest(rows)
		return "/v2/models/m/infer", "application/octet-stream", body, header
	default:
		path = "/v2/models/m/infer"
		tensor := func(name string, data []float64) map[string]any {
			return map[string]any{"name": name, "shape": []int{n}, "datatype": "FP64", "data": data}
		}
		v = map[string]any{"inputs": []any{tensor("a", columns[0]), tensor("b", columns[1])}, "outputs": []any{map[string]any{"name": "mean"}}}
	}
	body, _ = json.Marshal(v) // finite numbers
	return path, kind, body, nil
}

// damagedRequest changes the path or the body of a request.
func damagedRequest(path string, body []byte, rng *rand.Rand) (string, []byte) {
	at := rng.IntN(len(body))
	switch rng.IntN(5) {
	case 0:
		return path, body[:at]
	case 1:
		body[at] = byte(rng.IntN(256))
	case 2:
		return path, bytes.Replace(body, []byte{'1'}, []byte("1e999999"), 1+rng.IntN(2))
	case 3:
		return path, bytes.Join([][]byte{body[:at], body[at/2:]}, nil)
	default:
		values := url.Values{[]string{"level", "quantiles", "above", "link", "header", "model"}[rng.IntN(6)]: {[]string{"", "-1", "0.5", "NaN", "mc", "1e308,2", "k"}[rng.IntN(7)]}}
		return path + "?" + values.Encode(), body
	}
	return path, body
}

// meansIn returns the means of an answer of HTTP.
func meansIn(t *testing.T, text []byte) (means []float64) {
	var got struct {
		Predictions []map[string]float64
		Outputs     []struct{ Data []float64 }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Errorf("%v: %.300s", err, text)
	}
	if len(got.Outputs) > 0 {
		means = got.Outputs[0].Data
	}
	for _, row := range got.Predictions {
		means = append(means, row["mean"])
	}
	return means
}

// check compares the means of the answer to an intact request with the model's predictions.
func (s *asked) check(t *testing.T, rows, means []float64) {
	p, err := s.model.Predict(t.Context(), matrix(rows, len(rows)/2, 2), valla.PredictOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	if len(means) != len(p.Mean) {
		t.Errorf("%d means, expected %d", len(means), len(p.Mean))
		return
	}
	for i, want := range p.Mean {
		if math.Abs(means[i]-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("row %d: mean %g, expected %g", i, means[i], want)
		}
	}
}
