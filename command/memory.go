package command

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

// memory is the value of a flag with an amount of memory in bytes.
type memory int64

var _ pflag.Value = (*memory)(nil)

// memoryUnits are the units of amounts of memory: 1024 bytes, 1024² bytes and so on.
var memoryUnits = []string{"KiB", "MiB", "GiB", "TiB"}

// Set implements pflag.Value.
func (m *memory) Set(s string) error {
	number, factor := s, 1.0
	for i, u := range memoryUnits {
		if n, ok := strings.CutSuffix(s, u); ok {
			number, factor = strings.TrimSpace(n), math.Pow(1024, float64(i+1))
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v*factor >= 1 && v*factor < math.MaxInt64) {
		return fmt.Errorf("expected an amount of memory such as 512MiB or 4GiB")
	}
	*m = memory(v * factor)
	return nil
}

// String implements pflag.Value.
func (m *memory) String() string {
	if *m == 0 {
		return ""
	}
	return graph.Bytes(int64(*m))
}

// Type implements pflag.Value.
func (*memory) Type() string { return "SIZE" }

// fitEstimate is estimate for a fit that begins then, whose garbage is bounded.
func (d *drawer) fitEstimate(label string) func(gp.Estimate) {
	return func(e gp.Estimate) {
		d.estimate(label)(e)
		boundGarbage(e.Bytes)
	}
}

// boundGarbage makes the runtime collect garbage more often in a fit that needs many bytes, unless the variable GOGC says how
// often: beside the memory in use there is at most a quarter of it as garbage, or leastGarbage. Usually there is as much
// garbage as memory in use, so that a fit could take twice what it needs. Arrays of numbers cost the collector little.
func boundGarbage(bytes int64) {
	const leastGarbage, leastPercent = 32 << 20, 25
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(int(max(leastPercent, min(100, 100*leastGarbage/max(1, bytes)))))
	}
}
