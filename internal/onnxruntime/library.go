package onnxruntime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Variable is the environment variable with the path of the library.
const Variable = "VALLA_ONNXRUNTIME"

// ErrAbsent is wrapped where the library cannot be loaded.
var ErrAbsent = errors.New("onnxruntime is not available")

// leastMinor is the first version 1.x whose interface has all that is used here, see version.
const leastMinor = 18

// usual are the names under which the library is looked for without a path.
var usual = []string{"libonnxruntime.so.1", "libonnxruntime.so", "libonnxruntime.dylib", "/opt/homebrew/lib/libonnxruntime.dylib"}

// library is the loaded library.
type library struct {
	version string    // such as 1.30.0
	api     []uintptr // functions by their numbers in onnxruntime_c_api.h
	env     uintptr   // what all sessions share
}

// loaded are libraries by the paths that were asked for.
var loaded = struct {
	sync.Mutex
	by map[string]*library // by path
}{by: map[string]*library{}}

// load returns the library at path. An empty path stands for the environment variable, or the usual names.
func load(path string) (*library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.by[path]; l != nil {
		return l, nil
	}
	names := []string{path}
	if path == "" {
		if names = []string{os.Getenv(Variable)}; names[0] == "" {
			names = usual
		}
	}
	var first error
	for _, name := range names {
		l, err := open(name)
		if err == nil {
			loaded.by[path] = l
			return l, nil
		}
		if first == nil {
			first = err
		}
		if !strings.Contains(first.Error(), names[0]) {
			first = fmt.Errorf("%s: %w", names[0], first)
		}
	}
	return nil, fmt.Errorf("%w: %s; name the library by --onnxruntime or %s", ErrAbsent, strings.Join(strings.Fields(first.Error()), " "), Variable)
}

// check returns an error for a version of the library that is too old.
func check(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); err != nil || major != "1" || n < leastMinor {
		return fmt.Errorf("onnxruntime %.20q, expected version 1.%d or later", version, leastMinor)
	}
	return nil
}

// Version returns the version of the library at path, see [Open].
func Version(path string) (string, error) {
	l, err := load(path)
	if err != nil {
		return "", err
	}
	return l.version, nil
}

// CPU is the processor on which every library runs models.
const CPU = "cpu"

// longNames are the names that the library has for processors, by short names. CUDA has no such name: it needs calls of its own.
var longNames = map[string]string{"webgpu": "WebGPU", "coreml": "CoreML", "xnnpack": "XNNPACK", "openvino": "OpenVINO", "qnn": "QNN"}

// Providers returns the processors on which the library at path runs models, see [Open], such as cpu and webgpu.
func Providers(path string) ([]string, error) {
	l, err := load(path)
	if err != nil {
		return nil, err
	}
	return l.providers()
}
