//go:build (linux || darwin) && (amd64 || arm64) && !noopenblas

package onnxruntime

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Numbers of functions in onnxruntime_c_api.h, which only grows at its end.
const (
	getErrorMessage         = 2
	createEnv               = 3
	createSession           = 7
	runSession              = 9
	createSessionOptions    = 10
	setIntraOpNumThreads    = 24
	createTensorWithData    = 49
	getTensorMutableData    = 51
	getTensorElementType    = 60
	getTensorElementCount   = 64
	getTensorTypeAndShape   = 65
	createCPUMemoryInfo     = 69
	releaseStatus           = 93
	releaseSession          = 95
	releaseValue            = 96
	releaseTypeAndShapeInfo = 99
	releaseSessionOptions   = 100
	getAvailableProviders   = 125
	releaseProviders        = 126
	appendProvider          = 216
	functions               = 217 // how many are read
)

// open loads the library with a name.
func open(name string) (*library, error) {
	os.Setenv("ORT_DISABLE_TELEMETRY", "1")
	runtime.LockOSThread() // the system keeps the text of an error for each thread
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	base, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, err
	}
	var getBase func() *[2]uintptr
	purego.RegisterFunc(&getBase, base)
	var getAPI func(version uint32) unsafe.Pointer
	var getVersion func() string
	purego.RegisterFunc(&getAPI, getBase()[0])
	purego.RegisterFunc(&getVersion, getBase()[1])
	l := &library{version: getVersion()}
	if err := check(l.version); err != nil {
		return nil, err
	}
	table := getAPI(leastMinor)
	if table == nil {
		return nil, fmt.Errorf("onnxruntime %s does not have version %d of its interface", l.version, leastMinor)
	}
	l.api = unsafe.Slice((*uintptr)(table), functions)
	var pin runtime.Pinner
	defer pin.Unpin()
	const errorsAlone = 3 // in the log
	env := pinnedNew[uintptr](&pin)
	err = l.call(createEnv, errorsAlone, cStrings(&pin, []string{"valla"})[0], pointer(env))
	l.env = *env
	return l, err
}

// pointer is the address of memory that Go neither moves nor frees until the call is over: a field of what is on the heap, or pinned.
// A variable on a stack moves when the stack grows.
func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// pinnedNew returns memory for a value, on the heap.
func pinnedNew[T any](pin *runtime.Pinner) *T {
	p := new(T)
	pin.Pin(p)
	return p
}

// call calls a function that returns a status, and makes an error of the status.
func (l *library) call(number int, args ...uintptr) error {
	status, _, _ := purego.SyscallN(l.api[number], args...)
	if status == 0 {
		return nil
	}
	var message func(status uintptr) string
	purego.RegisterFunc(&message, l.api[getErrorMessage])
	text := message(status)
	purego.SyscallN(l.api[releaseStatus], status)
	return fmt.Errorf("onnxruntime %s: %.500s", l.version, text)
}

// Session runs one model, for any number of goroutines. The garbage collector gives its memory back.
type Session struct {
	of     *library // that runs the model
	handle uintptr  // of the library's session
	memory uintptr  // describes the memory of tensors
}

// Open loads the model at path with the library that is given by its path; an empty one stands for the environment variable
// Variable, or a usual name. threads is the number of threads; 0 leaves it to the library. provider is the processor on which the
// model runs, one of [Providers]; "" is the CPU.
func Open(library, path, provider string, threads int) (*Session, error) {
	l, err := load(library)
	if err != nil {
		return nil, err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	options, handle, memory := pinnedNew[uintptr](&pin), pinnedNew[uintptr](&pin), pinnedNew[uintptr](&pin)
	if err := l.call(createSessionOptions, pointer(options)); err != nil {
		return nil, err
	}
	defer purego.SyscallN(l.api[releaseSessionOptions], *options)
	if err := l.call(setIntraOpNumThreads, *options, uintptr(threads)); err != nil {
		return nil, err
	}
	if err := l.use(provider, *options); err != nil {
		return nil, err
	}
	if err := l.call(createSession, l.env, cStrings(&pin, []string{path})[0], *options, pointer(handle)); err != nil {
		return nil, err
	}
	s := &Session{of: l, handle: *handle}
	runtime.AddCleanup(s, func(handle uintptr) { purego.SyscallN(l.api[releaseSession], handle) }, s.handle)
	const arena, usual = 1, 0
	err = l.call(createCPUMemoryInfo, arena, usual, pointer(memory))
	s.memory = *memory
	return s, err
}

// use makes sessions with these options run on a processor.
func (l *library) use(provider string, options uintptr) error {
	if provider == "" || provider == CPU {
		return nil
	}
	all, err := l.providers()
	if err != nil {
		return err
	}
	long, ok := longNames[provider]
	if !ok || !slices.Contains(all, provider) {
		return fmt.Errorf("onnxruntime %s has no provider %q, expected one of %s", l.version, provider, strings.Join(all, ", "))
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	name := cStrings(&pin, []string{long})
	return l.call(appendProvider, options, name[0], 0, 0, 0)
}

// providers returns the short names of the processors on which the library runs models.
func (l *library) providers() ([]string, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	list, count := pinnedNew[unsafe.Pointer](&pin), pinnedNew[int32](&pin)
	if err := l.call(getAvailableProviders, pointer(list), pointer(count)); err != nil {
		return nil, err
	}
	defer l.call(releaseProviders, uintptr(*list), uintptr(*count))
	var all []string
	for _, name := range unsafe.Slice((**byte)(*list), *count) {
		text := unsafe.String(name, lengthOf(name))
		short := strings.ToLower(strings.TrimSuffix(strings.Clone(text), "ExecutionProvider"))
		if _, ok := longNames[short]; ok || short == CPU {
			all = append(all, short)
		}
	}
	return all, nil
}

// lengthOf returns the length of a text that ends with a zero.
func lengthOf(text *byte) (n int) {
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return n
}

// Run runs the model on one input, the elements of a type in an array of some shape, and returns the outputs with the given names.
// Outputs of float32 and float64 are returned as float64.
func (s *Session) Run(input string, x Tensor, outputs []string) ([][]float64, error) {
	defer runtime.KeepAlive(s)
	var pin runtime.Pinner
	defer pin.Unpin()
	data, size := x.memory(&pin)
	shape := make([]int64, len(x.Shape))
	for i, n := range x.Shape {
		shape[i] = int64(n)
	}
	pin.Pin(&shape[0])
	value := pinnedNew[uintptr](&pin)
	err := s.of.call(createTensorWithData, s.memory, data, size, pointer(&shape[0]), uintptr(len(shape)), uintptr(x.Type), pointer(value))
	if err != nil {
		return nil, err
	}
	defer purego.SyscallN(s.of.api[releaseValue], *value)
	names := cStrings(&pin, append([]string{input}, outputs...))
	results := make([]uintptr, len(outputs))
	pin.Pin(&results[0])
	err = s.of.call(runSession, s.handle, 0, pointer(&names[0]), pointer(value), 1, pointer(&names[1]), uintptr(len(outputs)), pointer(&results[0]))
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(outputs))
	for i, r := range results {
		if err == nil {
			all[i], err = s.floats(r)
		}
		purego.SyscallN(s.of.api[releaseValue], r)
	}
	return all, err
}

// cStrings returns the addresses of texts that end with a zero.
func cStrings(pin *runtime.Pinner, texts []string) []uintptr {
	out := make([]uintptr, len(texts))
	for i, text := range texts {
		b := append([]byte(text), 0)
		pin.Pin(&b[0])
		out[i] = pointer(&b[0])
	}
	pin.Pin(&out[0])
	return out
}

// floats copies the elements of a tensor.
func (s *Session) floats(value uintptr) ([]float64, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	info, count, typ, data := pinnedNew[uintptr](&pin), pinnedNew[uintptr](&pin), pinnedNew[int32](&pin), pinnedNew[unsafe.Pointer](&pin)
	l := s.of
	if err := l.call(getTensorTypeAndShape, value, pointer(info)); err != nil {
		return nil, err
	}
	defer purego.SyscallN(l.api[releaseTypeAndShapeInfo], *info)
	err := cmp.Or(l.call(getTensorElementCount, *info, pointer(count)), l.call(getTensorElementType, *info, pointer(typ)), l.call(getTensorMutableData, value, pointer(data)))
	if err != nil {
		return nil, err
	}
	out := make([]float64, *count)
	switch Type(*typ) {
	case Double:
		copy(out, unsafe.Slice((*float64)(*data), *count))
	case Float:
		for i, v := range unsafe.Slice((*float32)(*data), *count) {
			out[i] = float64(v)
		}
	default:
		return nil, fmt.Errorf("onnxruntime %s: an output with elements of type %d, expected floating-point numbers", l.version, *typ)
	}
	return out, nil
}
