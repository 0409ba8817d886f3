package command_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/internal/fixture"
)

// numberOf returns the number in an environment variable, or def if it is not set.
func numberOf(t *testing.T, name string, def int) int {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tryMemory is the memory of a command under test in bytes.
const tryMemory = 1 << 30

// try runs a command in a folder with tryMemory. It returns the exit code and a complaint about an end that no input may
// cause: a crash, an error of several lines, too much memory or too much time.
func try(dir string, args ...string) (code int, complaint string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	from := program(args...)
	cmd := exec.CommandContext(ctx, from.Path, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = append(from.Env, fmt.Sprint("GOMEMLIMIT=", tryMemory)), dir, &out
	_ = cmd.Run() // the exit code tells
	code = cmd.ProcessState.ExitCode()
	_ = os.WriteFile(filepath.Join(dir, "stderr.txt"), out.Bytes(), 0o600) // for stderrOf
	last := out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]
	switch {
	case ctx.Err() != nil:
		return code, "it takes more than two minutes"
	case code < 0 || code > 2 || strings.Contains(out.String(), "goroutine "):
		return code, fmt.Sprintf("exit code %d: %.2000s", code, out.String())
	case code != 0 && !strings.HasPrefix(last, "valla: "):
		return code, fmt.Sprintf("the error is not one line: %.2000s", out.String())
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" && u.Maxrss > tryMemory>>10 {
		return code, fmt.Sprintf("it takes %d MiB", u.Maxrss>>10)
	}
	return code, ""
}

// readable is a file that the program reads, with the command that reads it.
type readable struct {
	name  string
	file  string   // file in the folder of the test; of a folder, any file
	args  []string // command
	exact string   // output that a damaged file must not change; "" if the format has no checksum
}

// reading returns a readable whose command has the words of text.
func reading(name, file, text, exact string) readable {
	return readable{name, file, strings.Fields(text), exact}
}

// readables writes a whole file of each format to dir.
func readables(t *testing.T, dir string) []readable {
	writeTable(t, filepath.Join(dir, "t.npy"), example(50, 2), "a", "b")
	writeTable(t, filepath.Join(dir, "t.npz"), example(50, 2))
	writeTable(t, filepath.Join(dir, "t.csv"), example(50, 2))
	text, err := os.ReadFile(filepath.Join(dir, "t.csv"))
	if err != nil {
		t.Fatal(err)
	}
	zst, _ := zstd.NewWriter(nil) // its options are right
	for name, content := range map[string][]byte{"t.csv.gz": fixture.Gzip(t, text), "t.csv.zst": zst.EncodeAll(text, nil), "t.csv.zip": zippedText(t, text), "t.parquet": parquetTable(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, strings.Fields("predict t.csv --model m.valla --parts parts --part-size 1KiB --part 0/1")...)
	checkpoint(t, dir)
	list := []readable{
		reading("model", "m.valla", "predict t.csv --model m.valla --out p.csv", "p.csv"),
		reading("npy", "t.npy", "predict t.npy --model m.valla --out p.csv", ""),
		reading("npz", "t.npz", "predict t.npz --model m.valla --out p.csv", "p.csv"),
		reading("CSV", "t.csv", "predict t.csv --model m.valla --out p.csv", ""),
		reading("CSV, gzip", "t.csv.gz", "predict t.csv.gz --model m.valla --out p.csv", "p.csv"),
		reading("CSV, zstd", "t.csv.zst", "predict t.csv.zst --model m.valla --out p.csv", ""),
		reading("CSV, zip", "t.csv.zip", "predict t.csv.zip --model m.valla --out p.csv", "p.csv"),
		reading("Parquet", "t.parquet", "predict t.parquet --model m.valla --out p.csv", ""),
		reading("checkpoint", "c.zip", checkpointed, ""),
		reading("parts", "parts", "merge parts --out p.csv", "p.csv"),
		reading("ONNX", "net.onnx", "network show net.onnx", ""),
	}
	put(t, dir, "net.onnx", filepath.Join("..", "layers", "onnx", "testdata", "cnn_small.onnx"))
	return append(list, weights(t, dir)...)
}

// put copies the file at path to dir, with another name.
func put(t *testing.T, dir, name, path string) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// weights writes a whole file of each format of weights, which are in the shared folder.
func weights(t *testing.T, dir string) (list []readable) {
	shared := filepath.Join("..", "..", "shared", "onnx")
	if _, err := os.Stat(shared); err != nil {
		t.Log("without formats of weights, because the shared folder is absent")
		return nil
	}
	text := "a,b,c,d,e,y,z\n"
	for i := range 12 {
		text += fmt.Sprintf("%d,%d,%d,1,2,%d,%d\n", i, i*i%7, i%3, i, i%5)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{"safetensors", "pt"} {
		put(t, dir, "net."+ending, filepath.Join(shared, "mlp_relu."+ending))
		list = append(list, reading("weights, ."+ending, "net."+ending, "fit w.csv --target y,z --net-weights net."+ending+" --activation relu --method lla --hyper fixed --prior-std 1 --law gaussian --out w.valla", ""))
	}
	return list
}

// zippedText returns a zip archive of a table.
func zippedText(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("t.csv")
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parquetTable returns a Parquet file of the columns a and b.
func parquetTable(t *testing.T) []byte {
	type row struct {
		A float64 `parquet:"a"`
		B float64 `parquet:"b"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for _, r := range example(50, 2) {
		if _, err := w.Write([]row{{r[0], r[1]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkpoint interrupts a training, which leaves the checkpoint c.zip.
func checkpoint(t *testing.T, dir string) {
	for wait := 50 * time.Millisecond; ; wait += wait / 2 {
		cmd := program(strings.Fields(checkpointed)...)
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		_ = cmd.Process.Signal(syscall.SIGTERM) // the system has signals
		_ = cmd.Wait()
		if _, err := os.Stat(filepath.Join(dir, "c.zip")); err == nil {
			return
		}
		if _, err := os.Stat(filepath.Join(dir, "c.valla")); err == nil {
			t.Fatal("the training ends before it is interrupted")
		}
	}
}

// checkpointed is a training with the checkpoint c.zip.
const checkpointed = "train train.csv --target y --hidden 10 --iterations 20000 --batch-size 20 --checkpoint c.zip --resume --out c.valla"

// damagedCopy returns content with random damage.
func damagedCopy(content []byte, rng *rand.Rand) []byte {
	b := slices.Clone(content)
	if len(b) == 0 {
		return []byte{byte(rng.IntN(256))}
	}
	at := rng.IntN(len(b))
	end := min(len(b), at+1+rng.IntN(64))
	switch rng.IntN(6) {
	case 0:
		return b[:at]
	case 1:
		b[at] ^= 1 << rng.IntN(8)
	case 2:
		for i := at; i < end; i++ {
			b[i] = byte(rng.IntN(256))
		}
	case 3:
		clear(b[at:end])
	case 4:
		return slices.Concat(b[:end], b[at:])
	default:
		return slices.Delete(b, at, end)
	}
	return b
}

// someFile returns the path, or a random file of the folder at the path.
func someFile(path string, rng *rand.Rand) string {
	list, err := os.ReadDir(path)
	if err != nil || len(list) == 0 {
		return path
	}
	return filepath.Join(path, list[rng.IntN(len(list))].Name())
}

// TestDamagedFiles: a damaged file of any format that the program reads is refused in one line, or is read; a format with
// checksums is never read wrongly. There is one file of each format, or as many in all as VALLA_DAMAGE says.
func TestDamagedFiles(t *testing.T) {
	dir := fitted(t)
	list := readables(t, dir)
	each := numberOf(t, "VALLA_DAMAGE", len(list)) / len(list)
	var work sync.WaitGroup
	for k := range 2 { // two formats at a time
		work.Go(func() {
			for i := k; i < len(list); i += 2 {
				list[i].damage(t, dir, each, uint64(i))
			}
		})
	}
	work.Wait()
	damagedImages(t, each)
}

// damage reads n damaged copies of the file of r.
func (r readable) damage(t *testing.T, from string, n int, seed uint64) {
	rng, refused, failed, want := rand.New(rand.NewPCG(13, seed)), 0, 0, ""
	for i := -1; i < n; i++ { // the first file is whole
		dir, err := os.MkdirTemp(from, "try")
		if err == nil {
			err = copyOf(dir, from)
		}
		if err == nil && i >= 0 {
			path := someFile(filepath.Join(dir, r.file), rng)
			var content []byte
			if content, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(path, damagedCopy(content, rng), 0o600)
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
		code, complaint := try(dir, r.args...)
		got, _ := os.ReadFile(filepath.Join(dir, r.exact))
		switch {
		case i < 0 && code != 0:
			t.Errorf("%s: the whole file is refused with the code %d %s", r.name, code, complaint)
			return
		case i < 0:
			want = string(got)
		case complaint == "" && code == 0 && r.exact != "" && string(got) != want:
			complaint = "the file is read, but wrongly"
		}
		if code != 0 {
			refused++
		}
		if complaint != "" {
			failed++
			t.Errorf("%s, file %d: %s", r.name, i, complaint)
		}
		_ = os.RemoveAll(dir) // the folder of the test is removed at the end
	}
	t.Logf("%s: %d damaged files, %d refused, %d failures", r.name, n, refused, failed)
}

// copyOf copies the files and folders of from, except copies, to dir.
func copyOf(dir, from string) error {
	list, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	for _, f := range list {
		if strings.HasPrefix(f.Name(), "try") || err != nil {
			continue
		}
		if f.IsDir() {
			err = os.CopyFS(filepath.Join(dir, f.Name()), os.DirFS(filepath.Join(from, f.Name())))
			continue
		}
		var b []byte
		if b, err = os.ReadFile(filepath.Join(from, f.Name())); err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), b, 0o600)
		}
		if info, known := f.Info(); known == nil && err == nil { // parts know when their rows have changed
			err = os.Chtimes(filepath.Join(dir, f.Name()), info.ModTime(), info.ModTime())
		}
	}
	return err
}

// damagedImages decodes n damaged files of IDX and of CIFAR-10.
func damagedImages(t *testing.T, n int) {
	images := append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, 4), 5), 5), bytes.Repeat([]byte{7, 200}, 50)...)
	batch := bytes.Repeat(append([]byte{3}, bytes.Repeat([]byte{9, 100, 255}, 1024)...), 2)
	for name, f := range map[string]struct {
		whole  []byte
		decode func(b []byte) error
	}{
		"IDX":            {images, func(b []byte) error { _, err := idx.DecodeImages(bytes.NewReader(b), "f"); return err }},
		"IDX, gzip":      {fixture.Gzip(t, images), func(b []byte) error { _, err := idx.DecodeImages(bytes.NewReader(b), "f"); return err }},
		"CIFAR-10":       {batch, func(b []byte) error { _, err := cifar.Decode(bytes.NewReader(b), "f", 2); return err }},
		"CIFAR-10, gzip": {fixture.Gzip(t, batch), func(b []byte) error { _, err := cifar.Decode(bytes.NewReader(b), "f", 2); return err }},
	} {
		if err := f.decode(f.whole); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rng, refused := rand.New(rand.NewPCG(13, 99)), 0
		for range n {
			if err := f.decode(damagedCopy(f.whole, rng)); err != nil {
				refused++
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error of several lines: %q", name, err)
				}
			}
		}
		t.Logf("%s: %d damaged files, %d refused", name, n, refused)
	}
}
