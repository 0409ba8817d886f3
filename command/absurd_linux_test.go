package command_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/fixture"
)

// absurd are numbers that no request for rows, samples, scales, sizes or times can mean, for each kind of flags.
var absurd = map[string][]string{
	"INT":    {"-1", "1000000000", "1000000000000"},
	"NUMBER": {"-1", "0", "1000000000000", "1e300", "-1e300", "1e-300", "NaN", "Inf"},
	"SIZE":   {"-1", "0", "1", "9000000000GiB"},
	"TIME":   {"-1s", "0s", "1ns", "2000000h"},
}

// absurdMemory is the most memory of a command with an absurd number in MiB: it is refused before it takes memory, or works
// with what it needs at a time.
const absurdMemory = 400

// numbered are the lines of a help that begin a flag for a number.
var numbered = regexp.MustCompile(`(?m)^ +(--[a-z0-9.-]+) \[?(INT|NUMBER|SIZE|TIME)\b(.*)`)

// absurdLines returns command lines that end with an absurd number, for each flag that the helps of commands have.
func absurdLines(t *testing.T, dir string) (lines []string) {
	t.Helper()
	commands := []string{
		"train train.csv --out x.valla", "predict test.csv --model m.valla --out p.csv", "compare train.csv --model map.valla --budget 1s",
		"eval test.csv --model m.valla", "calibrate test.csv --model m.valla --out x.valla", "update test.csv --model m.valla --out x.valla",
		"report test.csv --model m.valla --out x.html", "export m.valla --out x.onnx", "acquire test.csv --model m.valla", "serve --model m.valla --listen 127.0.0.1:0",
	}
	for _, m := range method.All() {
		commands = append(commands, "fit train.csv --model map.valla --out x.valla --method "+m.Name)
	}
	for _, name := range likelihood.Names() {
		commands = append(commands, "train train.csv --out x.valla --likelihood "+name)
	}
	seen := make(map[string]bool)
	for _, c := range commands {
		help := must(t, dir, append(strings.Fields(c), "--help")...)
		for _, f := range numbered.FindAllStringSubmatch(help, -1) {
			flag, verb := f[1], strings.Fields(c)[0]
			if of := verb + flag + f[3]; !seen[of] { // other methods share flags
				seen[of] = true
				for _, number := range absurd[f[2]] {
					lines = append(lines, c+" "+flag+"="+number)
				}
			}
		}
	}
	return lines
}

// TestAbsurdNumbers: a command with an absurd number ends with one line, or works on and ends when it is interrupted, and
// takes little memory. The ordinary test tries one command line of 37.
func TestAbsurdNumbers(t *testing.T) {
	dir := fitted(t)
	next, every := make(chan string), 37
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
	for i, line := range absurdLines(t, dir) {
		if i%every == 0 {
			next <- line
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
