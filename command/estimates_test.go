//go:build linux || darwin

package command_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// estimated are the fits whose estimates are compared with what their processes take.
var estimated = []struct {
	flags string // of valla fit
	most  int    // most classes with which the long test makes the fit in minutes
	small bool   // the ordinary test makes it, too
}{
	{"lla", 2, false}, {"lla --structure kfac", 1000, true}, {"lla --structure diag", 1000, false},
	{"lla --weights last-layer", 10, false}, {"gp-subset --points 100", 100, false}, {"ella --points 500", 1000, true},
	{"sampled-lla --em-steps 2 --samples 8", 1000, false}, {"moe-lla --experts 4", 10, false},
	{"fmgp --iterations 100", 100, false}, {"sfr --points 50", 100, false}, {"sfr --points 10 --outputs joint", 10, false},
	{"gapa", 1000, false}, {"mfvi --iterations 300", 1000, true}, {"sngp --iterations 300", 1000, false},
	{"sngp --covariance joint --features 32 --iterations 100", 10, false}, {"valla --iterations 100 --inducing 20", 100, false},
	{"valla+gapa --iterations 100 --inducing 20", 100, false},
}

// offBy is the largest factor between the planned memory and the memory that is used.
const offBy = 2

// nearPlan is the largest share of the planned memory that the long test allows as difference, or nearFloor MiB, with up to
// nearClasses classes. With more classes the collector of garbage lets parts of covariances of 256 MiB lie.
const nearPlan, nearFloor, nearClasses = 0.25, 16, 100

// TestEstimates: the memory of a process that fits is what the line before the fit says, up to a factor of two. With
// VALLA_LONG it makes all fits with 2, 10, 100 and 1,000 classes, and prints a table with the times.
func TestEstimates(t *testing.T) {
	long, classes := os.Getenv("VALLA_LONG") != "", []int{10}
	if long {
		classes = []int{2, 10, 100, 1000}
		fmt.Println("| fit | classes | planned s | s | CPU s | planned MiB | MiB |\n|---|--:|--:|--:|--:|--:|--:|")
	}
	for _, c := range classes {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rows, model := classTable(t, c)
			for _, e := range estimated {
				if long && c <= e.most || !long && e.small {
					t.Run(e.flags, func(t *testing.T) { compareEstimate(t, rows, model, c, e.flags, long) })
				}
			}
		})
	}
}

// TestRefusedFits: a fit that the memory does not allow is refused before it takes the memory.
func TestRefusedFits(t *testing.T) {
	rows, model := classTable(t, 100)
	for _, flags := range []string{
		"valla --inducing 2000", "fmgp --inducing 1000", "lla --structure full", "sngp --covariance joint --features 4096", "gp-subset --points 1000",
		"sfr --points 2000 --outputs joint",
	} {
		args := append([]string{"fit", rows, "--model", model, "--memory", "20MiB", "--out", filepath.Join(t.TempDir(), "m.valla"), "--method"}, strings.Fields(flags)...)
		cmd := program(args...)
		peak := metered(t, cmd)
		out, err := cmd.CombinedOutput()
		if used := peak(); err == nil || !strings.Contains(string(out), "more than the limit of") || used > mostRefused {
			t.Errorf("%s: %v after %.0f MiB, expected a refusal within %d MiB that names the limit\n%s", flags, err, used, mostRefused, out)
		}
	}
}

// mostRefused is the most memory in MiB of a process that refuses a fit: the program, its data and the planning.
const mostRefused = 150

// classTable returns the paths of a table with so many classes, which blobs of 16 inputs have, and of a network.
func classTable(t *testing.T, classes int) (rows, model string) {
	t.Helper()
	const width = 16
	dir, rng, text := t.TempDir(), rand.New(rand.NewPCG(uint64(classes), 1)), new(strings.Builder)
	for i := range width {
		fmt.Fprintf(text, "x%d,", i)
	}
	text.WriteString("label\n")
	centres := make([]float64, classes*width)
	for i := range centres {
		centres[i] = rng.NormFloat64()
	}
	for n := range max(1500, 9*classes/2) {
		for i := range width {
			fmt.Fprintf(text, "%.5f,", centres[n%classes*width+i]+0.6*rng.NormFloat64())
		}
		fmt.Fprintf(text, "k%d\n", n%classes)
	}
	rows, model = filepath.Join(dir, "rows.csv"), filepath.Join(dir, "map.valla")
	if err := os.WriteFile(rows, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := program("train", rows, "--classes", "--iterations", "100", "--out", model).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return rows, model
}

var estimateLine = regexp.MustCompile(`takes about ([0-9.]+) (s|min|h) and ([0-9.]+) (KiB|MiB|GiB)`)

// compareEstimate makes a fit and compares its memory with the estimate.
func compareEstimate(t *testing.T, rows, model string, classes int, flags string, long bool) {
	t.Helper()
	args := append([]string{"fit", rows, "--model", model, "--out", filepath.Join(t.TempDir(), "m.valla"), "--method"}, strings.Fields(flags)...)
	alone := func() *exec.Cmd {
		cmd := program(args...)
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1") // the table has CPU seconds of one thread
		return cmd
	}
	cmd, start := alone(), time.Now()
	peak := metered(t, cmd)
	out, err := cmd.CombinedOutput()
	took := time.Since(start).Seconds()
	line := estimateLine.FindStringSubmatch(string(out))
	if err != nil || line == nil {
		t.Errorf("%s with %d classes: %v\n%s", flags, classes, err, out)
		return
	}
	number := func(text, unit string) float64 {
		v, _ := strconv.ParseFloat(text, 64)
		return v * map[string]float64{"s": 1, "min": 60, "h": 3600, "KiB": 1. / 1024, "MiB": 1, "GiB": 1024}[unit]
	}
	planned, used := number(line[3], line[4]), peak()
	if long {
		cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		fmt.Printf("| %s | %d | %.1f | %.1f | %.1f | %.0f | %.0f |\n", flags, classes, number(line[1], line[2]), took, cpu, planned, used)
	}
	for again := 0; again < 5 && used > offBy*planned; again++ { // beside other work the collector of garbage comes late
		cmd = alone()
		peak := metered(t, cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", flags, err, out)
		}
		used = min(used, peak())
	}
	if long && classes <= nearClasses && math.Abs(used-planned) > max(planned*nearPlan, nearFloor) {
		t.Errorf("%s with %d classes: %.0f MiB are planned and %.0f used, expected a difference of at most %g of the plan", flags, classes, planned, used, nearPlan)
	}
	if planned > offBy*used || used > offBy*planned {
		t.Errorf("%s with %d classes: %.0f MiB are planned and %.0f used", flags, classes, planned, used)
	}
}

// asMeter is the variable of the environment that makes the binary of the tests run the command as a process of its own, and write
// the memory of this process to the file that the variable names. Linux counts the memory of the process that starts another one as
// the other's, too; here it is little, and that of the tests may be much.
const asMeter = "VALLA_TEST_AS_METER"

func init() {
	file := os.Getenv(asMeter)
	if file == "" {
		return
	}
	os.Unsetenv(asMeter)
	cmd := program(os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // the exit code tells
	if err := os.WriteFile(file, fmt.Append(nil, peakMiB(cmd.ProcessState.SysUsage())), 0o600); err != nil {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// metered makes a process of the command that has not begun tell its largest resident set in MiB after its end.
func metered(t *testing.T, cmd *exec.Cmd) (peak func() float64) {
	file := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(cmd.Env, asMeter+"="+file)
	return func() float64 {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// peakMiB is the largest resident set of a process that has ended.
func peakMiB(usage any) float64 {
	most := float64(usage.(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "darwin" {
		return most / (1 << 20)
	}
	return most / (1 << 10)
}
