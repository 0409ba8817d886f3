package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/ram"
)

// States of a finding.
const (
	works  = "OK"
	low    = "low"    // the program works, but little more
	absent = "absent" // the program does without it
	broken = "failed" // the program needs it
)

// finding is a line of valla doctor.
type finding struct {
	Name   string `json:"name"`             // what was looked at
	State  string `json:"state"`            // OK, low, absent or failed
	Text   string `json:"text"`             // what was found
	Remedy string `json:"remedy,omitempty"` // what to do unless it works
}

func newDoctor() *cobra.Command {
	var form asJSON
	var library string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what works on this machine",
		Long: `Check what works on this machine, in a second: the processor instructions for the loops in assembly and
the numbers that they compute, the processors and the memory that the process may take, the speed of matrix
products, the folders that commands write to, and what the program can use but does not need: ONNX Runtime
and data sets. Each line is OK, low, absent (the program does without it) or failed, and says what helps.
Python and PyTorch are never needed.

The exit code is 1 if something failed that the program needs.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			all := examine(library)
			if err := form.print(cmd, map[string]any{"checks": all}, findingsText(all)); err != nil {
				return err
			}
			return failed(all)
		}),
	}
	cmd.Flags().StringVar(&library, "onnxruntime", "", "`PATH` of the library of ONNX Runtime (default: VALLA_ONNXRUNTIME, or where the system finds it)")
	settingsFlags(cmd.Flags(), &form, "", nil)
	return cmd
}

// examine returns all findings. The path of the library of ONNX Runtime may be "".
func examine(library string) []finding {
	home, homeErr := os.UserCacheDir()
	return []finding{
		aboutProgram(), aboutProcessor(), aboutNumbers(), aboutCores(), aboutMemory(ram.Available(), debug.SetMemoryLimit(-1)), aboutSpeed(),
		aboutRuntime(library), aboutData(),
		aboutFolder("this folder", ".", nil, broken, "work in a folder that you may write to"),
		aboutFolder("temporary", os.TempDir(), nil, broken, "name a folder that you may write to in the variable TMPDIR (TMP on Windows)"),
		aboutFolder("cache", home, homeErr, absent, "only downloaded data sets go there; "+data.FolderVariable+" names another folder"),
		{"python", works, "not needed, nor is PyTorch", ""},
	}
}

// findingsText returns a line for each finding.
func findingsText(all []finding) string {
	var b strings.Builder
	for _, f := range all {
		text := f.Text
		if f.Remedy != "" {
			text += "; " + f.Remedy
		}
		fmt.Fprintf(&b, "%-12s %-7s %s\n", f.Name, f.State, strings.ReplaceAll(flagged(text), "\n", "; "))
	}
	return b.String()
}

// failed returns an error if something failed.
func failed(all []finding) error {
	var names []string
	for _, f := range all {
		if f.State == broken {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed: %s", len(names), len(all), strings.Join(names, ", "))
}

func aboutProgram() finding {
	return finding{"program", works, fmt.Sprintf("valla %s, %s, %s/%s", valla.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH), ""}
}

func aboutProcessor() finding {
	if name := kernel.Assembly(); name != "none" {
		return finding{"processor", works, "loops in assembly, with the instructions " + name, ""}
	}
	return finding{"processor", absent, "no loops in assembly, plain Go", "a processor with AVX2 or NEON, and a program built without the tag noasm, are several times as fast"}
}

// aboutNumbers compares the loops in use with plain ones.
func aboutNumbers() finding {
	if worst := max(productError[float64](1e-13), productError[float32](1e-5)); !(worst <= 1) {
		return finding{"numbers", broken, fmt.Sprintf("matrix products differ from plain loops by %.2g times the rounding", worst), "GODEBUG=cpu.avx512f=off or GODEBUG=cpu.avx2=off leaves the instructions out; please report this"}
	}
	return finding{"numbers", works, "matrix products agree with plain loops", ""}
}

// productError returns how far a product of the loops in use is from the product of plain loops, in units
// of a tolerance.
func productError[T kernel.Float](tolerance float64) float64 {
	const m, n, k = 37, 53, 71 // no multiple of the width of a register
	a, b, c := filled[T](m*k), filled[T](k*n), make([]T, m*n)
	kernel.Gemm(false, false, m, n, k, 1, a, k, b, n, 0, c, n)
	worst := 0.0
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(a[i*k+l]) * float64(b[l*n+j])
			}
			if d := math.Abs(float64(c[i*n+j])-sum) / (tolerance * k); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst
}

// filled returns n numbers from -1 to 1.
func filled[T kernel.Float](n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(math.Sin(float64(i + 1)))
	}
	return v
}

func aboutCores() finding {
	return finding{"processors", works, fmt.Sprintf("%d, of which the program uses %d (GOMAXPROCS changes this number)", runtime.NumCPU(), runtime.GOMAXPROCS(0)), ""}
}

// aboutMemory judges the bytes that the process may take. The limit is that of GOMEMLIMIT.
func aboutMemory(left, limit int64) finding {
	const little = 512 << 20
	f := finding{"memory", works, "the system does not say how much is free", ""}
	if left < math.MaxInt64 {
		f.Text = graph.Bytes(left) + " may be taken"
	}
	if limit < math.MaxInt64 {
		f.Text += ", with GOMEMLIMIT at " + graph.Bytes(limit)
	}
	if left < little {
		f.State, f.Remedy = low, "many fits need about 512 MiB: end other programs, or raise the limit of the container or of ulimit -v"
	}
	return f
}

// aboutSpeed measures matrix products for a moment.
func aboutSpeed() finding {
	return finding{"speed", works, fmt.Sprintf("%.3g billion operations a second in float64, %.3g in float32 (matrix products)", speed[float64](), speed[float32]()), ""}
}

// speed returns billions of additions and multiplications in a second, in products of 512×512 matrices.
func speed[T kernel.Float]() float64 {
	const n, least = 512, 150 * time.Millisecond
	a, b, c := filled[T](n*n), filled[T](n*n), make([]T, n*n)
	product := func() { kernel.Gemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n) }
	product() // wakes the threads
	began, times := time.Now(), 0
	for time.Since(began) < least {
		product()
		times++
	}
	return 2 * n * n * n * float64(times) / time.Since(began).Seconds() / 1e9
}

func aboutRuntime(library string) finding {
	version, providers, err := valla.RuntimeProviders(library)
	if err != nil {
		return finding{runtimeEngine, absent, err.Error(), "it is optional; see valla predict --help for --engine and --onnxruntime"}
	}
	return finding{runtimeEngine, works, version + ", for " + strings.Join(providers, ", "), ""}
}

func aboutData() finding {
	const remedy = "it is optional; valla data list names data sets, and valla data get downloads them"
	folder, err := data.Folder()
	if err != nil {
		return finding{"data", absent, err.Error(), remedy}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return finding{"data", absent, err.Error(), remedy}
	}
	return finding{"data", works, fmt.Sprintf("%s has %d entries", folder, len(entries)), ""}
}

// aboutFolder says whether files can be written to a folder, or to the nearest folder above that is there. An error is
// why the folder is not known, and otherwise is the state if they cannot.
func aboutFolder(name, folder string, err error, otherwise, remedy string) finding {
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return finding{name, otherwise, err.Error(), remedy}
	}
	there := folder
	for {
		if _, err := os.Stat(there); !os.IsNotExist(err) || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	if otherwise == broken && there != folder {
		return finding{name, otherwise, folder + " is not there", remedy}
	}
	if err := atomicfile.Try(filepath.Join(there, "valla-doctor")); err != nil {
		return finding{name, otherwise, err.Error(), remedy}
	}
	return finding{name, works, folder + " can be written to", ""}
}
