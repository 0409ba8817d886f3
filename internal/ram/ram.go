// Package ram tells how much memory the process may still take, so that work that needs more
// is refused before it begins, and the runtime is never out of memory.
package ram

import (
	"bufio"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// small is a number of bytes that is never refused, since asking the system takes longer than
// taking so much memory.
const small = 64 << 20

// Fits returns whether need bytes can be taken, and if not how many can. A need that overflowed
// and is negative does not fit.
func Fits(need int64) (left int64, ok bool) {
	if need >= 0 && need <= small {
		return 0, true
	}
	if left = Available(); need >= 0 && need <= left {
		return left, true
	}
	debug.FreeOSMemory() // garbage counts as taken
	left = Available()
	return left, need >= 0 && need <= left
}

// Available returns the number of bytes that the process may take: the least of what the machine
// has, the control group and the resource limits of the process allow, and GOMEMLIMIT leaves. It is
// math.MaxInt64 where the system tells nothing.
func Available() int64 {
	left := max(0, system())
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		left = min(left, max(0, limit-Taken()))
	}
	return left
}

// Taken returns the bytes that the Go runtime holds, as GOMEMLIMIT counts them.
func Taken() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// Field returns the number behind a name in a file of lines, such as a file of proc(5), and false if there is
// none.
func Field(path, name string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) > 1 && words[0] == name {
			v, err := strconv.ParseInt(words[1], 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}
