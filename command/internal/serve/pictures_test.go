package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/serve/oip"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// pictures returns n images of two classes, [n,3,8,8] of bytes.
func pictures(n int) *data.Set {
	x, y := make([]uint8, n*3*8*8), make([]float64, n)
	for i := range x {
		y[i/192] = float64(i / 192 % 2)
		x[i] = uint8(i*i%128 + 100*(i/192%2))
	}
	return &data.Set{
		Targets: []string{"label"},
		X:       tensor.New(tensor.WithShape(n, 3, 8, 8), tensor.WithBacking(x)),
		Y:       tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y)),
	}
}

// TestPictures: images come as bytes or as numbers from 0 to 1, in every form that a request may
// have, and get the model's probabilities.
func TestPictures(t *testing.T) {
	path, set := filepath.Join(t.TempDir(), "m.valla"), pictures(20)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Classes: true, Network: valla.Network{Form: "cnn", Filters: []int{3}, Hidden: []int{4}}, Training: valla.Training{Iterations: 20}})
	if err == nil {
		m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
	}
	if err == nil {
		err = m.Save(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *Options) { o.Models = []Source{{"m", path}} }, []string{}...)
	if _, page := r.send(http.MethodGet, "/", "", nil); !strings.Contains(string(page), `&#34;fields&#34;:[]`) {
		t.Errorf("the page of a model without columns: %s", page)
	}
	want, err := m.Predict(t.Context(), pictures(2).X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pixels := pictures(2).X.Uint8s()
	var bytes, numbers []string
	for _, p := range pixels {
		bytes, numbers = append(bytes, strconv.Itoa(int(p))), append(numbers, strconv.FormatFloat(float64(p)/255, 'g', -1, 64))
	}
	var got answered
	for kind, list := range map[string][]string{"UINT8": bytes, "FP64": numbers} {
		r.post("/v2/models/m/infer", fmt.Sprintf(`{"inputs":[{"name":"x","shape":[2,3,8,8],"datatype":%q,"data":[%s]}]}`, kind, strings.Join(list, ",")), http.StatusOK, &got)
		same(t, kind, got.numbers(t, "probabilities", 2, 2), want.Probs)
	}
	head := `{"inputs":[{"name":"x","shape":[2,3,8,8],"datatype":"UINT8","parameters":{"binary_data_size":384}}]}`
	_, body := r.send(http.MethodPost, "/v2/models/m/infer", "application/octet-stream", append([]byte(head), pixels...), headerLength, strconv.Itoa(len(head)))
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	same(t, "bytes", got.numbers(t, "probabilities", 2, 2), want.Probs)
	raw, err := r.dialed().ModelInfer(t.Context(), &oip.ModelInferRequest{ModelName: "m", RawInputContents: [][]byte{pixels},
		Inputs: []*oip.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "UINT8", Shape: []int64{2, 3, 8, 8}}}})
	if err != nil || raw.Outputs[0].Shape[0] != 2 {
		t.Errorf("answer %v, error %v", raw, err)
	}
	var plain struct{ Predictions []map[string]any }
	r.post("/predict", fmt.Sprintf(`{"rows":[[[%s]]]}`, strings.Join(numbers[:192], ",")), http.StatusOK, &plain)
	if p, _ := plain.Predictions[0]["p_1"].(float64); len(plain.Predictions) != 1 || p < want.Probs[1]-1e-9 || p > want.Probs[1]+1e-9 {
		t.Errorf("predictions %v, expected %v", plain, want.Probs)
	}
	var no failure
	r.post("/v2/models/m/infer", fmt.Sprintf(`{"inputs":[{"name":"x","shape":[2,3,8,8],"datatype":"FP64","data":[%s]}]}`, strings.Join(bytes, ",")), http.StatusBadRequest, &no)
	has(t, "bytes as numbers", no.Error, "expected a byte divided by 255, from 0 to 1, or bytes (UINT8)")
	for shape, want := range map[string]string{"[1,3,8,8]": "1 elements, expected 192", "[1,8,8,3]": "of shape [1 8 8 3], expected one input of numbers of shape [n 3 8 8]"} {
		no = failure{}
		r.post("/v2/models/m/infer", fmt.Sprintf(`{"inputs":[{"name":"x","shape":%s,"datatype":"UINT8","data":[1]}]}`, shape), http.StatusBadRequest, &no)
		has(t, "shape", no.Error, want)
	}
	no = failure{}
	r.post("/predict", fmt.Sprintf(`{"rows":[[%s]]}`, strings.TrimSuffix(strings.Repeat("["+strings.Join(numbers[:24], ",")+"],", 8), ",")), http.StatusBadRequest, &no)
	has(t, "lists", no.Error, "lists of shape [8 24]; expected")
	if _, body := r.send(http.MethodGet, "/v2/models/m", "", nil); !strings.Contains(string(body), `"shape":[-1,3,8,8]`) {
		t.Errorf("metadata %s", body)
	}
	a, body := r.send(http.MethodPost, "/predict", "text/csv", []byte("a,b\n1,2\n"))
	if a.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "expected inputs of shape") {
		t.Errorf("a table: status %d: %s", a.StatusCode, body)
	}
}
