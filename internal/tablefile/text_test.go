package tablefile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/go-valla/valla/internal/fixture"
)

const table = "a,b\n1,2\n"

// zstandard returns the zstd form of text.
func zstandard(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

// zipped returns an archive in which each of the named files holds the table.
func zipped(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, table)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpack: a text has the same bytes in every form.
func TestUnpack(t *testing.T) {
	for name, content := range map[string][]byte{
		"plain": []byte(table), "gzip": fixture.Gzip(t, []byte(table)), "zstd": zstandard(t, table), "zip": zipped(t, "__MACOSX/x.csv", "read.me", "dir/T.CSV"),
	} {
		var text Text
		r := io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content)))
		if err := text.Unpack(r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(&text)
		if err != nil || string(got) != table || text.Packed() != (name != "plain") {
			t.Errorf("%s: %q, packed %v, error %v", name, got, text.Packed(), err)
		}
		text.Close()
	}
}

// TestUnpackErrors: what is no table of text, or is cut off, is an error that says so.
func TestUnpackErrors(t *testing.T) {
	long := strings.Repeat("1.25,2.5\n", 4000)
	for want, content := range map[string][]byte{
		"found an empty file":      {},
		"found a Parquet file":     []byte("PAR1...."),
		"gzip data":                []byte("\x1f\x8b\x08"),
		"one .txt or .csv file":    zipped(t, "a.csv", "b.txt"),
		"found 0":                  zipped(t, "a.bin"),
		"zip archive, found":       []byte("PK\x03\x04 and no more"),
		"more gzip data, found it": fixture.Gzip(t, []byte(long))[:40],
		"more zstd data, found it": zstandard(t, long)[:20],
	} {
		var text Text
		err := text.Unpack(io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content))))
		if err == nil {
			_, err = io.ReadAll(&text)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		text.Close()
	}
	var text Text
	if err := text.Unpack(bytes.NewReader(zipped(t, "a.csv"))); err == nil || !strings.Contains(err.Error(), "from start to end") {
		t.Errorf("a zip archive in a stream: error %v", err)
	}
}

// TestSniff: the first bytes tell the kind of the content, and stay to be read.
func TestSniff(t *testing.T) {
	for content, want := range map[string]string{"": Empty, "a": "", "\x1f\x8b": Gzip, "BZh9": Bzip2, "\x28\xb5\x2f\xfd": Zstd, "PK\x05\x06": Zip, "PAR1": Parquet, "PAR": ""} {
		b := bufio.NewReader(strings.NewReader(content))
		got, err := Sniff(b)
		if rest, _ := io.ReadAll(b); got != want || err != nil || string(rest) != content {
			t.Errorf("%q is %q with the rest %q, error %v", content, got, rest, err)
		}
	}
}

// TestOpenParquetErrors: a file that is no whole Parquet file is refused with the reason.
func TestOpenParquetErrors(t *testing.T) {
	for content, want := range map[string]string{
		"":                                 "found an empty file",
		"a,b\n1,2\n":                       `one that begins "a,b\n1,2\n"`,
		"PAR1abc":                          "only 7 bytes",
		"PAR1abcdefgh":                     "it is cut off",
		"PAR1\xff\xff\xff\x00PAR1":         "damaged: 16777215 bytes of description",
		"PAR1\x15\x04\x00\x02\x00\x00PAR1": "damaged",
	} {
		_, err := OpenParquet(io.NewSectionReader(strings.NewReader(content), 0, int64(len(content))))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
}

// TestDamaged turns a panic into an error with the name of the file.
func TestDamaged(t *testing.T) {
	err := func() (err error) {
		defer Damaged("x.parquet", &err)
		panic("index out of range\nstack")
	}()
	if err == nil || err.Error() != "x.parquet: expected a Parquet file, found it damaged: index out of range" {
		t.Errorf("error %v", err)
	}
}

// TestMessages: cells and lists of names in messages have one short line.
func TestMessages(t *testing.T) {
	if got := Quoted("a\nb"); got != `"a\nb"` {
		t.Errorf("%s", got)
	}
	if got := Quoted(strings.Repeat("x", 50)); got != `"`+strings.Repeat("x", 40)+`"...` {
		t.Errorf("%s", got)
	}
	if got := Listed(nil); got != "none" {
		t.Errorf("%s", got)
	}
	if got := Listed(strings.Split(strings.Repeat("n", 22), "")); !strings.HasSuffix(got, `"n" and 2 more`) || strings.Count(got, `"n"`) != 20 {
		t.Errorf("%s", got)
	}
}

// TestQuotedLines: a quoted cell may have line breaks, unless every row has to be one line.
func TestQuotedLines(t *testing.T) {
	const text = "a,b\n\"x\ny\",2\n"
	c := NewCells(strings.NewReader(text), ',')
	if _, err := c.Read(); err != nil {
		t.Fatal(err)
	}
	if cells, err := c.Read(); err != nil || string(cells[0]) != "x\ny" || c.Line != 2 || c.Comma() != ',' {
		t.Errorf("cells %q in line %d, error %v", cells, c.Line, err)
	}
	c = NewCells(strings.NewReader(text), ',')
	c.Lines = true
	_, _ = c.Read()
	if _, err := c.Read(); err == nil || !strings.Contains(err.Error(), "line 2: ") {
		t.Errorf("a line break where rows are lines: error %v", err)
	}
}

// TestLongLine: a line without an end does not fill the memory.
func TestLongLine(t *testing.T) {
	endless := io.LimitReader(zeros{}, 2*maxLine)
	if _, err := NewCells(endless, ',').Read(); err == nil || !strings.HasPrefix(err.Error(), "line 1 has more than 67108864 bytes") {
		t.Errorf("error %v", err)
	}
}

// zeros is a text of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
