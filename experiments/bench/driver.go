package bench

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"gorgonia.org/tensor"
)

//go:embed driver.py
var driverSource []byte

// errMissing is wrapped by the error about Python or one of its modules that is not installed.
var errMissing = errors.New("not available")

// peer is the other side: checkouts of published code and a Python to run it with.
type peer struct {
	python    string          // the path of the Python program
	checkouts map[code]string // the folder of each repository that was found
	dir       string          // for the driver and the arrays that are exchanged
}

// code is a repository of published code.
type code string

const (
	codeVaLLA code = "VaLLA"
	codeFMGP  code = "FMGP"
	codeELLA  code = "ELLA"
)

// signs are files by which a checkout is known.
var signs = map[code]string{codeVaLLA: "src/valla.py", codeFMGP: "bayesipy/fmgp/src/src.py", codeELLA: "mfvi_baseline.py"}

// codeOf returns the repository whose code does a kind of work.
func codeOf(kind string) code {
	switch kind {
	case "fmgp step":
		return codeFMGP
	case "ella fit":
		return codeELLA
	}
	return codeVaLLA
}

// checkoutsIn recognises checkouts, whose folders are separated by commas.
func checkoutsIn(folders string) (map[code]string, error) {
	found := map[code]string{}
	for _, dir := range strings.Split(folders, ",") {
		before := len(found)
		for c, file := range signs {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err == nil {
				found[c] = dir
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("%s is no checkout of the published code: it has none of %s, %s and %s", dir, signs[codeVaLLA], signs[codeFMGP], signs[codeELLA])
		}
	}
	return found, nil
}

// newPeer checks that there is a Python with PyTorch and writes the driver into dir.
func newPeer(ctx context.Context, python, references, dir string) (*peer, map[string]string, error) {
	checkouts, err := checkoutsIn(references)
	if err != nil {
		return nil, nil, err
	}
	path, err := exec.LookPath(python)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	p := &peer{path, checkouts, dir}
	if err := os.WriteFile(p.script(), driverSource, 0o600); err != nil {
		return nil, nil, err
	}
	d, err := p.start(ctx, 1, "")
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	a, err := d.ask(request{Do: "hello"})
	return p, a.Versions, err
}

func (p *peer) script() string { return filepath.Join(p.dir, "driver.py") }

// driver is a running Python.
type driver struct {
	cmd  *exec.Cmd      // the process
	in   io.WriteCloser // requests, a line of JSON each
	out  *bufio.Reader  // replies, a line of JSON each
	errs bytes.Buffer   // what the process wrote to its standard error
	blas int            // OPENBLAS_NUM_THREADS
	cpu  bool           // CPU time is measured, and not time of the wall
}

// start runs a Python with a checkout. blas is the number of threads of its OpenBLAS.
func (p *peer) start(ctx context.Context, blas int, checkout string) (*driver, error) {
	d := &driver{cmd: exec.CommandContext(ctx, p.python, p.script(), checkout), blas: blas}
	d.cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS="+strconv.Itoa(blas))
	d.cmd.Stderr = &d.errs
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReader(out)
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	return d, nil
}

// close ends the driver.
func (d *driver) close() {
	d.in.Close()
	d.cmd.Wait()
}

// request is a line to the driver.
type request struct {
	Do      string            `json:"do"`                // hello, open, values or time
	Kind    string            `json:"kind,omitempty"`    // the kind of work that open makes
	Options map[string]string `json:"options,omitempty"` // options of the work
	Dtype   string            `json:"dtype,omitempty"`   // float64 or float32
	File    string            `json:"file,omitempty"`    // the archive of arrays that is read or written
	Threads int               `json:"threads"`           // the number of threads of PyTorch
	Steps   int               `json:"steps,omitempty"`   // the number of steps to make
	CPU     bool              `json:"cpu,omitempty"`     // time of the processor instead of the wall
}

// reply is a line from the driver.
type reply struct {
	Versions map[string]string `json:"versions"` // versions by name, in the reply to hello
	Seconds  []float64         `json:"seconds"`  // the duration of each step
	Peak     int64             `json:"peak"`     // bytes, of the process since it started
	Missing  string            `json:"missing"`  // the module that is not installed, or ""
	Error    string            `json:"error"`    // what went wrong, or ""
}

// ask sends a request and waits for its reply.
func (d *driver) ask(r request) (reply, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		return reply{}, d.death(r)
	}
	text, err := d.out.ReadBytes('\n')
	if err != nil {
		return reply{}, d.death(r)
	}
	return parseReply(r, text)
}

// death returns an error with the exit status of the driver and the last line that it wrote.
func (d *driver) death(r request) error {
	d.in.Close()
	err := d.cmd.Wait()
	lines := strings.Split(strings.TrimSpace(d.errs.String()), "\n")
	return fmt.Errorf("the published code, asked to %s, ended (%v): %s", r, err, lines[len(lines)-1])
}

// parseReply reads the line that answers a request.
func parseReply(r request, text []byte) (reply, error) {
	var a reply
	if err := json.Unmarshal(text, &a); err != nil {
		return reply{}, fmt.Errorf("the driver's answer to %s: %w", r, err)
	}
	switch {
	case a.Missing != "":
		return reply{}, fmt.Errorf("%w: %s", errMissing, a.Missing)
	case a.Error != "":
		return reply{}, fmt.Errorf("the published code, asked to %s: %s", r, a.Error)
	case r.Do == "time" && len(a.Seconds) != r.Steps:
		return reply{}, fmt.Errorf("the driver's answer to %s: %d times, expected %d", r, len(a.Seconds), r.Steps)
	}
	return a, nil
}

func (r request) String() string { return strings.TrimSpace(r.Do + " " + r.Kind) }

// open hands a piece of work to the driver.
func (d *driver) open(b benchmark, dt tensor.Dtype, file string, threads int) error {
	_, err := d.ask(request{Do: "open", Kind: b.kind, Options: b.options, Dtype: dt.String(), File: file, Threads: threads})
	return err
}

// collect makes steps of the work that is open and returns their values.
func (d *driver) collect(file string, steps, threads int) (values, error) {
	if _, err := d.ask(request{Do: "values", File: file, Steps: steps, Threads: threads}); err != nil {
		return nil, err
	}
	a, err := npy.ReadArchive(file)
	if err != nil {
		return nil, err
	}
	v := values{}
	for _, name := range a.Names {
		t, _ := a.Get(name)
		v[name] = graph.Floats(t)
	}
	return v, nil
}

// other is the other side with one setting of its threads.
type other struct {
	*driver
	torch int    // the number of threads of PyTorch
	peak  *int64 // the most memory that was seen
}

func (o other) String() string { return fmt.Sprintf("OpenBLAS %d, torch %d", o.blas, o.torch) }

func (o other) run(_ context.Context, steps int) ([]time.Duration, error) {
	a, err := o.ask(request{Do: "time", Steps: steps, Threads: o.torch, CPU: o.cpu})
	if err != nil {
		return nil, err
	}
	*o.peak = max(*o.peak, a.Peak)
	taken := make([]time.Duration, len(a.Seconds))
	for i, s := range a.Seconds {
		taken[i] = time.Duration(s * float64(time.Second))
	}
	return taken, nil
}
