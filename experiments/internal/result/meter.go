package result

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-valla/valla/internal/cputime"
	"github.com/go-valla/valla/internal/ram"
)

// Meter measures the cost of a piece of work.
type Meter struct {
	start time.Time // when the work began
	cpu   float64   // CPU seconds of the process before the work
	exact bool      // the kernel's high-water mark was reset
}

// StartMeter starts a measurement. It first gives unused memory back to the system, so that
// this memory does not count.
func StartMeter() Meter {
	debug.FreeOSMemory()
	exact := resetPeak()
	return Meter{start: time.Now(), cpu: cputime.Seconds(), exact: exact}
}

// Cost returns the cost since the start.
func (m Meter) Cost() Cost {
	peak := highWater()
	if !m.exact || peak == 0 {
		peak = ram.Taken()
	}
	return Cost{Wall: time.Since(m.start).Seconds(), CPU: cputime.Seconds() - m.cpu, Peak: peak, Runs: 1, Cores: runtime.GOMAXPROCS(0)}
}

// resetPeak sets the high-water mark of resident memory to the memory that is resident now.
// It returns false if the system cannot; Linux can, see proc(5).
func resetPeak() bool {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil && highWater() > 0
}

// highWater returns the peak of resident memory in bytes since the last reset, 0 if the
// system does not tell.
func highWater() int64 {
	kib, _ := ram.Field("/proc/self/status", "VmHWM:")
	return kib << 10
}

// memoryMeasure describes how peaks of memory are measured on this system.
func memoryMeasure() string {
	if resetPeak() {
		return "peak resident set of the process (VmHWM), reset before each cell"
	}
	return "memory mapped by Go's runtime at the end of each cell"
}

// ThisMachine describes this machine, and the program by its version.
func ThisMachine(program string) Machine {
	return Machine{
		Program: program, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0), Memory: memoryMeasure(), Finished: time.Now().UTC().Truncate(time.Second),
	}
}

// cpuModel returns the name of the processor, or its architecture if the system does not
// tell.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}
