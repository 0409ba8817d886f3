package vallabeam_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/pass"
)

var program string // valla-beam

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "valla-beam")
	if err == nil {
		program = filepath.Join(dir, "valla-beam")
		err = exec.Command("go", "build", "-o", program, "./cmd/valla-beam").Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// write writes a table of n rows to a file, and returns it.
func write(t *testing.T, path string, seed uint64, n int) *data.Set {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&text, "%.5g,%.5g,%.5g\n", a, b, math.Sin(2*a)+0.5*b+0.1*rng.NormFloat64())
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := valla.Encode(table, data.ColumnOptions{}, valla.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// models writes the files kfac.valla and valla.valla, fitted to a sample, and all.csv.
func models(t *testing.T, rows int) string {
	t.Helper()
	dir := t.TempDir()
	set := write(t, filepath.Join(dir, "sample.csv"), 1, 150)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{12}}, Training: valla.Training{Iterations: 60}})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]gp.Settings{"valla": &gpvalla.Settings{Inducing: 6, Iterations: 20}, "kfac": &laplace.Settings{Structure: "kfac"}} {
		f, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Save(filepath.Join(dir, name+".valla")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "all.csv"), 2, rows)
	return dir
}

// alone does a job on one machine and returns the file that comes out.
func alone(t *testing.T, dir, model string, task pass.Task, size int64) []byte {
	t.Helper()
	o := pass.Options{Task: task, PartSize: size, Header: "auto"}
	if task == pass.Predict {
		o.Quantiles, o.Above = []float64{0.05, 0.5}, []float64{1}
	}
	j, err := pass.New(o, filepath.Join(dir, model), filepath.Join(dir, "all.csv"))
	if err != nil {
		t.Fatal(err)
	}
	shards := t.TempDir()
	r, err := j.NewRunner(shards)
	if err == nil {
		_, err = r.Run(t.Context(), j.Share(0, 1), 1, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish(shards)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if task == pass.Predict {
		err = m.Concatenate(&b, shards)
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	out, err := m.Model(t.Context(), j, shards, nil, 0)
	if err == nil {
		err = out.Save(filepath.Join(dir, "alone.valla"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return content(t, filepath.Join(dir, "alone.valla"))
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// arguments are those of valla-beam for a job on the files of dir.
func arguments(dir, model, task string, size int64, more ...string) []string {
	args := append([]string{"--task=" + task, "--model=" + filepath.Join(dir, model), "--shards=" + filepath.Join(dir, "shards-"+task+model),
		"--part_size=" + strconv.FormatInt(size, 10), "--out=" + filepath.Join(dir, "out-"+task+model)}, more...)
	if task == "predict" {
		args = append(args, "--quantiles=0.05, 0.5", "--above=1")
	}
	return append(args, filepath.Join(dir, "all.csv"))
}

// run runs valla-beam, which must succeed.
func run(t *testing.T, args ...string) {
	t.Helper()
	if text, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// attempt runs valla-beam and returns the last line that it says.
func attempt(args ...string) (string, error) {
	text, err := exec.Command(program, args...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1], err
}

// TestSameBytes: prism gives the bytes of one machine: of predictions, of LLA KFAC and of VaLLA.
func TestSameBytes(t *testing.T) {
	dir := models(t, 1500)
	for task, list := range map[pass.Task][]string{pass.Predict: {"valla.valla"}, pass.Fit: {"kfac.valla", "valla.valla"}} {
		for _, model := range list {
			want := alone(t, dir, model, task, 4000)
			run(t, arguments(dir, model, string(task), 4000)...)
			got := content(t, filepath.Join(dir, "out-"+string(task)+model))
			if task == pass.Fit { // the headers name the programs that wrote them
				got, want = arrays(t, got), arrays(t, want)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s %s: %d bytes differ from the %d of one machine", task, model, len(got), len(want))
			}
		}
	}
}

// arrays returns the arrays of a model file with their names.
func arrays(t *testing.T, file []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".npy") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(f.Name)
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

// serve starts prism as a job server in a process of its own, and returns its address and a
// function that ends it and returns what it has said.
func serve(t *testing.T) (endpoint string, end func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--job_server="+address[strings.LastIndexByte(address, ':')+1:])
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 100)) // it serves
	}
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	end = sync.OnceValue(func() string {
		stop()
		_ = cmd.Wait() // it was killed
		return said.String()
	})
	t.Cleanup(func() { end() })
	return "localhost" + address[strings.LastIndexByte(address, ':'):], end
}

// TestJobServer: the same with prism as a job server in a process of its own.
func TestJobServer(t *testing.T) {
	dir := models(t, 1500)
	endpoint, _ := serve(t)
	universal := []string{"--runner=universal", "--endpoint=" + endpoint, "--environment_type=LOOPBACK"}
	run(t, arguments(dir, "valla.valla", "predict", 4000, universal...)...)
	if want := alone(t, dir, "valla.valla", pass.Predict, 4000); !bytes.Equal(content(t, filepath.Join(dir, "out-predictvalla.valla")), want) {
		t.Error("not the bytes of one machine")
	}
}

// TestFailure: an error of a worker is one line of this program, which then ends.
func TestFailure(t *testing.T) {
	dir := models(t, 300)
	path := filepath.Join(dir, "all.csv")
	if err := os.WriteFile(path, append(content(t, path), "1,2\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arguments(dir, "valla.valla", "predict", 4000)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := lines[len(lines)-1]
	if err == nil || !strings.HasPrefix(last, "valla-beam: ") || !strings.Contains(last, "expected 3 cells, found 2") {
		t.Errorf("error %v, stderr %q", err, stderr.String())
	}
}

// TestOut: a file that is read, or that cannot be written, is refused before the work.
func TestOut(t *testing.T) {
	dir := models(t, 50)
	path := filepath.Join(dir, "all.csv")
	before := content(t, path)
	shards := filepath.Join(dir, "shards-predictvalla.valla")
	for out, want := range map[string]string{
		path: "it would replace " + path, filepath.Join(dir, ".", "valla.valla"): "it would replace ", filepath.Join(dir, "none", "p.csv"): "no such file",
	} {
		said, err := attempt(arguments(dir, "valla.valla", "predict", 4000, "--out="+out)...)
		if err == nil || !strings.HasPrefix(said, "valla-beam: --out "+out+": ") || !strings.Contains(said, want) {
			t.Errorf("%s: error %v, %q", out, err, said)
		}
	}
	if _, err := os.Stat(shards); err == nil || !bytes.Equal(content(t, path), before) {
		t.Errorf("work was done: %v", err)
	}
}

// TestKills kills the worker of a job server at random moments, as many times as the environment
// variable VALLA_KILLS says: no shard may be torn, and what comes out at last must be whole. Prism
// may end with the worker; then the failure is one line, and a new server goes on.
func TestKills(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("VALLA_KILLS"))
	if err != nil {
		t.Skip("VALLA_KILLS has no number of kills")
	}
	dir := models(t, 40_000)
	want := alone(t, dir, "valla.valla", pass.Predict, 20_000)
	endpoint, end := serve(t)
	args := func() []string {
		return arguments(dir, "valla.valla", "predict", 20_000, "--runner=universal", "--endpoint="+endpoint, "--environment_type=LOOPBACK")
	}
	start := time.Now()
	run(t, args()...)
	took := time.Since(start)
	out, shards := filepath.Join(dir, "out-predictvalla.valla"), filepath.Join(dir, "shards-predictvalla.valla")
	servers := 0
	for killed := 0; killed < n; {
		if err := os.RemoveAll(shards); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(out) // it may not be there
		for range 1 + rand.IntN(4) {
			cmd := exec.Command(program, args()...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.Float64() * float64(took)))
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			killed++
		}
		for text, err := attempt(args()...); err != nil; text, err = attempt(args()...) {
			if servers++; !strings.HasPrefix(text, "valla-beam: ") || servers > n {
				t.Fatalf("after %d kills: %s", killed, text)
			}
			t.Logf("after %d kills: %s; the server said %.2000q", killed, text, end())
			endpoint, end = serve(t) // the worker's end was the server's
		}
		if !bytes.Equal(content(t, out), want) {
			t.Fatalf("after %d kills: not the bytes of one machine", killed)
		}
		left, err := filepath.Glob(filepath.Join(shards, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %q, error %v", left, err)
		}
	}
}
