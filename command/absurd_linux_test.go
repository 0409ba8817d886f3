package command_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/fixture"
)

// absurd are numbers that no request for rows, samples, points or steps can mean, as flags have them.
var absurd = []string{"-1", "1000000000", "1000000000000"}

// absurdMemory is the most memory of a command with an absurd number in MiB: it is refused before it takes memory, or works
// with what it needs at a time.
const absurdMemory = 400

// absurdFlags returns command lines that end with a flag that wants an integer.
func absurdFlags() (lines []string) {
	for _, m := range method.All() {
		for _, name := range integers(reflect.TypeOf(m.New()).Elem()) {
			lines = append(lines, "fit train.csv --model map.valla --out x.valla --method "+m.Name+" --"+name)
		}
	}
	const train, predict, compare = "train train.csv --out x.valla", "predict test.csv --model m.valla --out p.csv", "compare train.csv --model map.valla --time 1s"
	return append(lines, train+" --hidden", train+" --iterations", train+" --batch-size", train+" --seed", train+" --patience", train+" --validate-every",
		predict+" --samples", predict+" --seed", compare+" --seed", "fit train.csv --model map.valla --out x.valla --seed",
		"serve --model m.valla --listen 127.0.0.1:0 --max-rows", "serve --model m.valla --listen 127.0.0.1:0 --queue", "serve --model m.valla --listen 127.0.0.1:0 --batch-rows",
		"serve --model m.valla --listen 127.0.0.1:0 --max-body", "serve --model m.valla --listen 127.0.0.1:0 --max-answer")
}

// integers returns the settings of a struct that are integers.
func integers(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, integers(f.Type)...)
			continue
		}
		kind := f.Type
		if kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if name := f.Tag.Get("set"); name != "" && kind.Kind() == reflect.Int {
			names = append(names, name)
		}
	}
	return names
}

// TestAbsurdNumbers: a command with an absurd number ends with one line, or works on and ends when it is interrupted, and
// takes little memory. The ordinary test tries every seventh command line.
func TestAbsurdNumbers(t *testing.T) {
	dir := fitted(t)
	next, every := make(chan string), 7
	if fixture.Long() {
		every = 1
	}
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for line := range next {
				if complaint := absurdly(t.Context(), dir, strings.Fields(line)...); complaint != "" {
					t.Errorf("%s: %s", line, complaint)
				}
			}
		})
	}
	for i, line := range absurdFlags() {
		for k, number := range absurd {
			if (i*len(absurd)+k)%every == 0 {
				next <- line + "=" + number
			}
		}
	}
	close(next)
	work.Wait()
}

// absurdly runs a command, which it interrupts after some seconds, and returns what is wrong with its end.
func absurdly(ctx context.Context, dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	from := program(args...)
	cmd := exec.CommandContext(ctx, from.Path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = from.Env, dir, &out
	_ = cmd.Run() // the exit code tells
	code, last := cmd.ProcessState.ExitCode(), out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]
	used := peakMiB(cmd.ProcessState.SysUsage())
	switch {
	case code < 0 || code > 2 && code != 130 || strings.Contains(out.String(), "goroutine "):
		return fmt.Sprintf("exit code %d: %.1000s", code, out.String())
	case code != 0 && !strings.HasPrefix(last, "valla: ") && code != 130:
		return fmt.Sprintf("the error is not one line: %.1000s", out.String())
	case used > absurdMemory:
		return fmt.Sprintf("%.0f MiB, expected at most %d: %.300s", used, absurdMemory, last)
	}
	return ""
}
