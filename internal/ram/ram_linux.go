package ram

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// system returns the least of three limits: available memory of the machine (proc(5)), of the
// control groups of the process (cgroups(7)), and of its address space (getrlimit(2)).
func system() int64 {
	left := int64(math.MaxInt64)
	if kib, ok := Field("/proc/meminfo", "MemAvailable:"); ok {
		left = kib << 10
	}
	for _, dir := range groups() {
		left = min(left, group(dir, "memory.max", "memory.current", "inactive_file"),
			group(dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"))
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) == nil && r.Cur < math.MaxInt64 {
		if kib, ok := Field("/proc/self/status", "VmSize:"); ok {
			left = min(left, int64(r.Cur)-kib<<10)
		}
	}
	return left
}

// groups returns the folders of the control groups that bound the process, with all above them,
// of both versions of the interface.
func groups() []string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "" && parts[1] != "memory" {
			continue
		}
		root := filepath.Join("/sys/fs/cgroup", parts[1])
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			if dirs = append(dirs, filepath.Join(root, at)); at == "/" {
				break
			}
		}
	}
	return dirs
}

// group returns what a group's limit leaves, with its cache of files, which can be dropped.
func group(dir, limit, usage, cache string) int64 {
	most, ok := number(filepath.Join(dir, limit))
	used, known := number(filepath.Join(dir, usage))
	if !ok || !known {
		return math.MaxInt64
	}
	dropped, _ := Field(filepath.Join(dir, "memory.stat"), cache)
	return most - used + dropped
}

// number reads a file of one number.
func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return v, err == nil
}
