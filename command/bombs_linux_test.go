package command_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/go-valla/valla/internal/fixture"
)

// bomb is a small file that stands for much, or claims to hold much.
type bomb struct {
	name, file string
	content    func(size int) []byte // size is the number of bytes that the bomb stands for
	command    string
}

// repeated returns count copies of the packed form of 16 MiB of a text.
func repeated(size int, text string, pack func([]byte) []byte) []byte {
	packed := pack(bytes.Repeat([]byte(text), 16<<20/len(text)))
	return append(pack([]byte("a,b\n")), bytes.Repeat(packed, max(1, size>>24))...)
}

// npyOf returns a file of NumPy that claims rows of two numbers, and holds some.
func npyOf(rows int) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }", rows)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append(append([]byte("\x93NUMPY\x01\x00v\x00"), head...), make([]byte, 160)...)
}

// field returns a field of a message of Protocol Buffers with the bytes b.
func field(number int, b []byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(b))), b...)
}

// pngOf returns the start of a picture of the given width and height.
func pngOf(side int) []byte {
	b := append([]byte("IHDR"), make([]byte, 13)...)
	binary.BigEndian.PutUint32(b[4:], uint32(side))
	binary.BigEndian.PutUint32(b[8:], uint32(side))
	b[12], b[13] = 8, 2
	return append(append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))...), make([]byte, 64)...)
}

// bombs returns bombs of all kinds.
func bombs(t *testing.T) []bomb {
	gz := func(b []byte) []byte { return fixture.Gzip(t, b) }
	encoder, _ := zstd.NewWriter(nil) // its options are right
	zst := func(b []byte) []byte { return encoder.EncodeAll(b, nil) }
	zipped := func(name string) func(size int) []byte {
		return func(size int) []byte { return zipBomb(t, name, size) }
	}
	packed := func(text string, pack func([]byte) []byte) func(size int) []byte {
		return func(size int) []byte { return repeated(size, text, pack) }
	}
	const table = "predict %s --model m.valla --out p.csv"
	shape := func(size int) []byte { return field(1, field(5, binary.AppendUvarint([]byte{8}, uint64(size)))) }
	return []bomb{
		{"gzip, empty lines", "t.csv.gz", packed("\n", gz), table},
		{"gzip, one line", "t.csv.gz", packed("1", gz), table},
		{"gzip, one row of cells", "t.csv.gz", packed("1,", gz), table},
		{"gzip, words", "t.csv.gz", packed("\"", gz), table},
		{"zstd, empty lines", "t.csv.zst", packed("\n", zst), table},
		{"zstd, one line", "t.csv.zst", packed("1", zst), table},
		{"zip, one line", "t.csv.zip", zipped("t.csv"), table},
		{"npz, zeros", "t.npz", zipped("X.npy"), table},
		{"model, zeros", "x.valla", zipped("model.json"), "predict train.csv --model %s --out p.csv"},
		{"weights .pt, zeros", "w.pt", zipped("w/data.pkl"), "fit train.csv --target y --net-weights %s --activation relu --out o.valla"},
		{"npy, rows", "t.npy", func(size int) []byte { return npyOf(size) }, table},
		{"npy, more rows than memory", "t.npy", func(size int) []byte { return npyOf(size << 20) }, table},
		{"safetensors, header", "w.safetensors", func(size int) []byte {
			return append(binary.LittleEndian.AppendUint64(nil, uint64(size)), "{}"...)
		}, "fit train.csv --target y --net-weights %s --activation relu --out o.valla"},
		{"safetensors, array", "w.safetensors", func(size int) []byte {
			head := fmt.Sprintf(`{"a.weight":{"dtype":"F64","shape":[%d,2],"data_offsets":[0,%d]}}`, size, 16*size)
			return append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
		}, "fit train.csv --target y --net-weights %s --activation relu --out o.valla"},
		{"ONNX, two-byte fields", "net.onnx", func(size int) []byte { return bytes.Repeat([]byte{7<<3 | 2, 0}, size>>6) }, "network show %s"},
		{"ONNX, two-byte nodes", "net.onnx", func(size int) []byte { return field(7, bytes.Repeat([]byte{1<<3 | 2, 0}, size>>6)) }, "network show %s"},
		{"ONNX, shapes", "net.onnx", shape, "network show %s"},
		{"form, widths", "net.json", func(size int) []byte {
			return []byte(fmt.Sprintf(`{"kind":"mlp","inputs":2,"hidden":[%d,%d],"outputs":1,"activation":"tanh"}`, size, size))
		}, "train train.csv --target y --form %s --iterations 1 --out o.valla"},
		{"form, lists in lists", "net.json", func(size int) []byte { return []byte(`{"kind":` + strings.Repeat("[", size>>6)) }, "train train.csv --target y --form %s --iterations 1 --out o.valla"},
		{"pictures", "pictures/a/1.png", func(size int) []byte { return pngOf(min(size, 1<<30)) }, "train pictures --classes --form cnn --iterations 1 --out o.valla"},
	}
}

// zipBomb returns a zip archive with an entry of size zeros, deflated.
func zipBomb(t *testing.T, name string, size int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<20); size > 0; size -= len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBombs: a small file that stands for much, or that claims to hold much, is refused or read within a gigabyte. There are
// as many bombs as VALLA_BOMBS says, of sizes that grow to 2 GB; without it, one small bomb of each third kind.
func TestBombs(t *testing.T) {
	dir, kinds := fitted(t), bombs(t)
	n, refused := numberOf(t, "VALLA_BOMBS", 0), make([]int, len(kinds))
	next := make(chan int)
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for i := range next {
				if kinds[i%len(kinds)].explode(t, dir, i, 1<<min(31, 22+i/len(kinds))) {
					refused[i%len(kinds)]++
				}
			}
		})
	}
	for i := range max(n, len(kinds)) {
		if n > 0 || i%3 == 0 {
			next <- i
		}
	}
	close(next)
	work.Wait()
	for i, b := range kinds {
		t.Logf("%s: %d refused", b.name, refused[i])
	}
}

// explode lets the program read the bomb with number i, and returns whether the program refuses the bomb.
func (b bomb) explode(t *testing.T, from string, i, size int) bool {
	dir := filepath.Join(from, fmt.Sprint("try", i))
	err := copyOf(dir, from)
	if path := filepath.Join(dir, filepath.FromSlash(b.file)); err == nil {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, b.content(size), 0o600)
		}
	}
	if err != nil {
		t.Error(err)
		return false
	}
	defer os.RemoveAll(dir)
	command := b.command
	if strings.Contains(command, "%s") {
		command = fmt.Sprintf(command, b.file)
	}
	code, complaint := try(dir, strings.Fields(command)...)
	if code == 2 && complaint == "" && strings.Contains(stderrOf(dir), " --help)") {
		complaint = "the command is wrong: " + stderrOf(dir)
	}
	if complaint != "" {
		t.Errorf("%s of %d bytes: %s", b.name, size, complaint)
	}
	return code != 0
}

// stderrOf returns what the last command in a folder wrote to standard error.
func stderrOf(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "stderr.txt")) // try writes it
	return string(text)
}
