package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/internal/npy"
	"gorgonia.org/tensor"
)

// fakeDriver answers requests as the driver would. What it is to play stands in the
// environment.
func fakeDriver() {
	play := os.Getenv("PEER_FAKE")
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		var r request
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			panic(err)
		}
		switch {
		case play == "hang "+r.Do:
			time.Sleep(time.Minute)
		case play == "no torch" || play == "no tqdm" && r.Do == "open":
			fmt.Printf("{\"missing\": \"No module named '%s'\"}\n", play[3:])
		case play == "crash" && r.Do == "time":
			fmt.Fprintln(os.Stderr, "first line\nMemoryError: no more")
			os.Exit(3)
		case play == "error" && r.Do == "open":
			fmt.Println(`{"error": "ValueError: no such thing"}`)
		case r.Do == "values":
			write(r.File, []array{{"loss", tensor.New(tensor.WithShape(3), tensor.WithBacking([]float64{1, 2, 3}))}})
			fmt.Println(`{}`)
		case r.Do == "time":
			seconds := make([]float64, r.Steps)
			for i := range seconds {
				seconds[i] = 0.1 * float64(r.Threads)
			}
			answer, _ := json.Marshal(map[string]any{"seconds": seconds, "peak": 1000 * r.Threads})
			fmt.Println(string(answer))
		default:
			fmt.Printf("{\"versions\": {\"torch\": \"fake\", \"blas\": %q}}\n", os.Getenv("OPENBLAS_NUM_THREADS"))
		}
	}
}

// fakeCheckout is a folder that looks like the published code.
func fakeCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "valla.py"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fake returns another side that this test plays.
func fake(t *testing.T, play string) *peer {
	t.Helper()
	t.Setenv("PEER_FAKE", play)
	p, versions, err := newPeer(t.Context(), os.Args[0], fakeCheckout(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if versions["torch"] != "fake" || versions["blas"] != "1" {
		t.Errorf("versions %v", versions)
	}
	return p
}

func TestDriver(t *testing.T) {
	p := fake(t, "well")
	w := &work{arrays: []array{{"x", tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{1, 2}))}}}
	sides, stop, err := p.open(t.Context(), benchmarks[0], tensor.Float64, w, 2)
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sides {
		names = append(names, s.String())
	}
	want := "OpenBLAS 1, torch 1; OpenBLAS 1, torch 2; OpenBLAS 2, torch 1; OpenBLAS 2, torch 2"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("settings %s, expected %s", got, want)
	}
	best, _, err := fastest(t.Context(), sides)
	if err != nil || best.torch != 1 {
		t.Errorf("the fastest is %v (%v), expected one with torch 1", best, err)
	}
	if *best.peak != 2000 {
		t.Errorf("peak %d, expected the largest of all settings", *best.peak)
	}
	v, err := best.collect(filepath.Join(p.dir, "values.npz"), 3, 1)
	if err != nil || len(v["loss"]) != 3 || v["loss"][2] != 3 {
		t.Errorf("values %v (%v)", v, err)
	}
}

func TestDriverErrors(t *testing.T) {
	for play, want := range map[string]string{
		"error": "the published code, asked to open step: ValueError: no such thing",
		"crash": "the published code, asked to time, ended (exit status 3): MemoryError: no more",
	} {
		p := fake(t, play)
		sides, stop, err := p.open(t.Context(), benchmarks[0], tensor.Float64, &work{arrays: []array{{"x", tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))}}}, 1)
		defer stop()
		if err == nil {
			_, err = sides[0].run(t.Context(), 2)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, expected %s", play, err, want)
		}
	}
}

func TestParseReply(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"seconds": [0.1, 0.2]}`, ""},
		{`{"seconds": [0.1]}`, "the driver's answer to time: 1 times, expected 2"},
		{`{"error": "bad"}`, "the published code, asked to time: bad"},
		{`{"missing": "No module named 'torch'"}`, "not available: No module named 'torch'"},
		{`Traceback`, "the driver's answer to time: invalid character"},
		{``, "the driver's answer to time: unexpected end"},
	} {
		_, err := parseReply(request{Do: "time", Steps: 2}, []byte(c.text))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, expected %s", c.text, err, c.want)
		}
		if errors.Is(err, errMissing) != strings.Contains(c.text, "missing") {
			t.Errorf("%q: %v is of the wrong kind", c.text, err)
		}
	}
}

// FuzzParseReply checks that no line makes the reader panic.
func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"seconds": [0.1, 0.2], "peak": 3}`))
	f.Add([]byte(`{"missing": 3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseReply(request{Do: "time", Steps: 2}, text)
		if err == nil && len(a.Seconds) != 2 {
			t.Errorf("%d times", len(a.Seconds))
		}
	})
}

// Every kind of work must be one that the driver knows, and rows must not share a name.
func TestBenchmarksTable(t *testing.T) {
	_, table, _ := strings.Cut(string(driverSource), "\nkinds = {")
	table, _, _ = strings.Cut(table, "}")
	names := map[string]bool{}
	for _, b := range benchmarks {
		if !strings.Contains(table, fmt.Sprintf("%q:", b.kind)) {
			t.Errorf("%s: the driver does not know %q", b.name, b.kind)
		}
		if names[b.name] || b.wanted <= 0 || len(b.dtypes) == 0 {
			t.Errorf("%s: a name twice, or nothing wanted or measured", b.name)
		}
		names[b.name] = true
	}
}

// What is handed over must be read back as it is.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.npz")
	w, err := benchmarks[0].new(tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(file, w.arrays); err != nil {
		t.Fatal(err)
	}
	a, err := npy.ReadArchive(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, shape := range map[string]tensor.Shape{
		"x": {100, 90}, "y": {100, 1}, "z": {100, 90}, "l": {5050}, "class": {100}, "log_prior_std": {1},
		"log_noise_variance": {1}, "net.dense1.weight": {90, 200}, "net.dense4.bias": {1},
	} {
		if v, ok := a.Get(name); !ok || !v.Shape().Eq(shape) {
			t.Errorf("%s is %v, expected the shape %v", name, v, shape)
		}
	}
}
