package serve

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/client"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// citizens is a table of text, dates, gaps, words for no and yes, and labels.
func citizens(n int) string {
	var text strings.Builder
	text.WriteString("id,city,born,age,member,vote\n")
	for i := range n {
		age, city := fmt.Sprint(20+i*i%50), []string{"Bonn", "Kiel", "Ulm", "007", ""}[i*7%5]
		if i%9 == 0 {
			age = "NA"
		}
		fmt.Fprintf(&text, "%d,%s,19%02d-01-02,%s,%s,%s\n", i+1, city, 50+i%40, age, []string{"Yes", "no", "no"}[i%3], []string{"blue", "red"}[i*i%5%2])
	}
	return text.String()
}

// electing is a server with a model of citizens, whose rows are in a file.
func electing(t *testing.T) (r *running, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "citizens.csv")
	put(t, file, []byte(citizens(100)))
	table, err := data.ReadTable(file)
	if err != nil {
		t.Fatal(err)
	}
	o := valla.TrainOptions{Classes: true, Seed: 3, Network: valla.Network{Hidden: []int{5}}, Training: valla.Training{Iterations: 100}}
	set, err := valla.Encode(table, data.ColumnOptions{ID: []string{"id"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := valla.Train(t.Context(), set, o)
	if err == nil {
		m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
	}
	if err == nil {
		err = m.Save(filepath.Join(dir, "vote.valla"))
	}
	if err != nil {
		t.Fatal(err)
	}
	r = start(t, func(o *Options) { o.Models = append(o.Models, Source{"vote", filepath.Join(dir, "vote.valla")}) }, []string{}...)
	r.models["vote"] = m
	return r, file
}

// TestColumns: a model of text, dates and gaps answers for cells as they stand in a file, in
// whatever form they come, with the bits that it has for the file.
func TestColumns(t *testing.T) {
	r, file := electing(t)
	v := r.Server.models[len(r.Server.models)-1].acquire()
	defer v.release()
	opened, err := v.model.Open(data.TableReader{}, data.Part{Path: file}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	set, err := opened.All(0)
	if err != nil {
		t.Fatal(err)
	}
	var want valla.Prediction
	if err := v.predict.Predict(t.Context(), set.X.Float64s(), &want); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(read(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	names, records := records[0], records[1:]
	var objects, lists []any
	texts, inputs := map[string][]string{}, []any{}
	for _, row := range records {
		object := map[string]any{}
		for j, cell := range row {
			texts[names[j]] = append(texts[names[j]], cell)
			var value any = cell
			if number := json.Number(cell); names[j] == "age" || cell == "" {
				value = number
				if cell == "NA" || cell == "" {
					value = nil
				}
			}
			object[names[j]] = value
		}
		objects = append(objects, object)
		lists = append(lists, []any{object["city"], object["born"], object["age"], object["member"]})
	}
	for name, cells := range texts {
		inputs = append(inputs, map[string]any{"name": name, "shape": []int{len(cells)}, "datatype": "BYTES", "data": cells})
	}
	check := func(form string, probs []float64, class []string) {
		t.Helper()
		if !slices.Equal(probs, want.Probs) {
			t.Errorf("%s: other probabilities than those of the file", form)
		}
		for i, k := range want.Best() {
			if class[i] != []string{"blue", "red"}[k] {
				t.Errorf("%s: row %d is %q, expected class %d", form, i, class[i], k)
			}
		}
	}
	for form, body := range map[string]any{"objects": objects, "lists": map[string]any{"rows": lists}} {
		var got struct {
			Predictions []struct {
				Class string  `json:"class"`
				Blue  float64 `json:"p_blue"`
				Red   float64 `json:"p_red"`
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r.post("/models/vote/predict", string(text), http.StatusOK, &got)
		var probs []float64
		var class []string
		for _, p := range got.Predictions {
			probs, class = append(probs, p.Blue, p.Red), append(class, p.Class)
		}
		check(form, probs, class)
	}
	a, body := r.send(http.MethodPost, "/models/vote/predict", "text/csv", read(t, file), "Accept", "text/csv")
	out, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || a.StatusCode != http.StatusOK || !slices.Equal(out[0], []string{"class", "p_blue", "p_red", "entropy"}) {
		t.Fatalf("status %d, error %v: %s", a.StatusCode, err, body)
	}
	var probs []float64
	var class []string
	for _, row := range out[1:] {
		var p [2]float64
		if _, err := fmt.Sscan(row[1]+" "+row[2], &p[0], &p[1]); err != nil {
			t.Fatal(err)
		}
		probs, class = append(probs, p[:]...), append(class, row[0])
	}
	check("CSV", probs, class)
	text, err := json.Marshal(map[string]any{"inputs": inputs})
	if err != nil {
		t.Fatal(err)
	}
	var got answered
	r.post("/v2/models/vote/infer", string(text), http.StatusOK, &got)
	class = nil
	if err := json.Unmarshal(got.Outputs[1].Data, &class); err != nil {
		t.Fatal(err)
	}
	check("tensors", got.numbers(t, "probabilities", 100, 2), class)
	p, err := (&client.Client{URL: r.url}).Texts(t.Context(), "vote", texts)
	if err != nil {
		t.Fatal(err)
	}
	check("the client", p.Probabilities, p.Class)
	x, err := json.Marshal(set.X.Float64s())
	if err != nil {
		t.Fatal(err)
	}
	r.post("/v2/models/vote/infer", fmt.Sprintf(`{"inputs":[{"name":"x","shape":[100,%d],"datatype":"FP64","data":%s}]}`, set.X.Shape()[1], x), http.StatusOK, &got)
	check("encoded numbers", got.numbers(t, "probabilities", 100, 2), class)
}

// TestColumnsDescribed: the metadata and the page show the columns of the file.
func TestColumnsDescribed(t *testing.T) {
	r, _ := electing(t)
	_, body := r.send(http.MethodGet, "/v2/models/vote", "", nil)
	var about struct {
		Inputs []struct {
			Name, Datatype string
			Shape          []int
		}
	}
	if err := json.Unmarshal(body, &about); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(about.Inputs); got != "[{city BYTES [-1]} {born BYTES [-1]} {age FP64 [-1]} {member BYTES [-1]}]" {
		t.Errorf("inputs %s", got)
	}
	v := r.Server.models[0].current
	values := ""
	for _, f := range v.fields() {
		values += f.Value + " "
	}
	if age := v.fields()[2]; !strings.HasPrefix(values, "7 19") || !strings.HasSuffix(values, " no ") || age.Text || !(age.Std > 1) {
		t.Errorf("usual values %q, age %+v", values, age)
	}
	if born := v.fields()[1].Value; !regexp.MustCompile(`^19\d\d-\d\d-\d\d$`).MatchString(born) {
		t.Errorf("usual date %q", born)
	}
	for body, want := range map[string]string{
		`[{"city":"Bonn","born":"1950-01-02","age":3,"member":"no"},{"city":null,"born":"soon","age":"","member":false}]`: `row 1 (counting from 0), column "born": expected a date or time as in the training rows, found "soon"`,
		`[{"city":"Bonn","born":7,"age":3,"member":"no"}]`:                                                                `row 0 (counting from 0), column "born": expected a date`,
		`[{"city":"Bonn","born":"1950-01-02","age":"old","member":"no"}]`:                                                 `row 0 (counting from 0), column "age": expected a number, found "old"`,
		`[{"city":"Bonn","born":"1950-01-02","age":1,"member":"perhaps"}]`:                                                `column "member": expected "no" or "yes", found "perhaps"`,
		`[{"city":"Bonn","born":"1950-01-02","age":1}]`:                                                                   `row 0 (counting from 0) has no column "member"`,
		`[["Bonn",1]]`: `row 0 (counting from 0): expected a list of 4 values, of "city", "born", "age", "member"`,
	} {
		var got failure
		r.post("/models/vote/predict", body, http.StatusBadRequest, &got)
		has(t, body, got.Error, want)
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium, which shows the page")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=20000", "--dump-dom", r.url+"/").Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	for _, part := range []string{`<option value="Ulm">`, "with probability", "Probabilities of the classes", `<select id="column"><option value="age">`} {
		if !strings.Contains(string(dom), part) {
			t.Errorf("the browser does not show %q", part)
		}
	}
}
