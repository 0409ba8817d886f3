package tabular

import (
	"bytes"
	"os"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

const fourRows = "a,b\n1,2\n3,4\n5,6\n7,8\n"

// bzipped is fourRows as Python's bz2.compress packs it; Go has no such writer.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xb7\x7a\xf9\xc4\x00\x00\x09\x59\x00\x00\x10\x00\x04\x3f\xc0\x30\x00\x20\x00\x22\x1e\xa8\xc8\xd3\xca\x10\x34\x0d\x07\x5c\xc5\xdc\xf2\x69\x80\x00\x7c\x5d\xc9\x14\xe1\x42\x42\xdd\xeb\xe7\x10"

// The content of a file tells its packing; the rows are the same.
func TestPacked(t *testing.T) {
	for name, content := range map[string][]byte{
		"plain": []byte(fourRows),
		"gzip":  fixture.Gzip(t, []byte(fourRows)),
		"bzip2": []byte(bzipped),
		"zip":   zipped(t, []byte(fourRows), "x.csv"),
		"zip of more": func() []byte {
			return zipped(t, []byte(fourRows), "README", "__MACOSX/x.csv", "X.TXT")
		}(),
		"two members": append(fixture.Gzip(t, []byte(fourRows[:8])), fixture.Gzip(t, []byte(fourRows[8:]))...),
	} {
		t.Run(name, func(t *testing.T) {
			x, y, _ := values(t, plain(), put(t, "data", content))
			expectEqual(t, "features", x, []float64{1, 3, 5, 7})
			expectEqual(t, "targets", y, []float64{2, 4, 6, 8})
		})
	}
}

// flip returns content with a byte changed.
func flip(content []byte, at int) []byte {
	content[at] ^= 0xff
	return content
}

func TestMalformedPacked(t *testing.T) {
	packedGzip := fixture.Gzip(t, []byte(fourRows))
	packedZip := zipped(t, []byte(fourRows), "x.csv")
	for name, c := range map[string]struct {
		content []byte
		say     string
	}{
		"gzip header": {packedGzip[:5], "expected gzip data, found it damaged or cut off: unexpected EOF"},
		"gzip cut":    {packedGzip[:len(packedGzip)-12], "expected more gzip data, found it damaged or cut off: unexpected EOF"},
		"gzip sum":    {flip(fixture.Gzip(t, []byte(fourRows)), len(packedGzip)-5), "found it damaged or cut off: gzip: invalid checksum"},
		"gzip tail":   {packedGzip[:len(packedGzip)-1], "expected more gzip data, found it damaged"},
		"bzip2 cut":   {[]byte(bzipped[:20]), "expected more bzip2 data, found it damaged or cut off"},
		"zip cut":     {packedZip[:len(packedZip)-9], "expected a zip archive, found it damaged or cut off"},
		"zip sum":     {flip(zipped(t, []byte(fourRows), "x.csv"), bytes.Index(packedZip, []byte("PK\x01\x02"))+16), "expected more zip data, found it damaged or cut off"},
		"zip of none": {zipped(t, nil, "x.dat"), "expected a zip archive of one .txt or .csv file, found 0"},
		"zip of two":  {zipped(t, []byte(fourRows), "x.csv", "y.txt"), "expected a zip archive of one .txt or .csv file, found 2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "data", c.content)
			expectError(t, refused(t, plain(), path), path, c.say)
		})
	}
	expectError(t, refused(t, plain(), t.TempDir()), "a folder of images")
	if err := refused(t, plain(), "absent"); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}
