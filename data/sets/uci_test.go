package sets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/fixture"
)

// digests are the digests of all numbers that the authors' text files give, at the commit that
// the table names; see digest.
var digests = map[string]string{
	"boston":   "02792c09bd32803feea11aa2a423f3b27892c7d9ce566b77946173217da8c52e",
	"concrete": "8a7977491ae8765aadd0ca8ab9d4aaff457254612f2a52aae00cb84d3f126393",
	"energy":   "fa08c5bca17a83a52d880319e3e9171df9f7cc64feffef5b7d1dba24ddbaa2ca",
	"kin8nm":   "e51aff3e936c9e7076eb6f6007015a55beed9ed39fbb3c59a680e401514aa435",
	"power":    "e255405bbad5715b4dc89297fc2dcfd71208650f0efe5bf1588c93b7dea457d0",
	"yacht":    "9d30f580fd3369a6dd9be78925cc524a24a0f1d192618d23d91f5bc3f30f5473",
}

// digest returns the SHA-256 sum of the features and targets of all splits of a set, each
// number as the 8 bytes of its float64.
func digest(t *testing.T, s Set, folder string) string {
	t.Helper()
	h := sha256.New()
	for split := range s.Splits {
		p, err := s.Table(folder, uint64(split))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []*data.Set{p.Train, p.Test} {
			for _, v := range [][]float64{part.X.Float64s(), part.Y.Float64s()} {
				if err := binary.Write(h, binary.LittleEndian, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The archives beside the module and the authors' text files give the same numbers, bit
// for bit. The text files are compared too where the data folder has them.
func TestFixtureUCIForms(t *testing.T) {
	folders := []string{fixture.Shared(t, "data")}
	if dir := os.Getenv(data.FolderVariable); dir != "" {
		folders = append(folders, dir)
	}
	for name, want := range digests {
		s, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			if got := digest(t, s, folder); got != want {
				t.Errorf("%s in %s: digest %s, want %s", name, folder, got, want)
			}
		}
	}
}

// putText writes a small set as the authors write theirs, with 3 splits of 4 rows.
func putText(t *testing.T, dir string) {
	t.Helper()
	put(t, filepath.Join(dir, "data.txt"), "1 -1\n2 -2\n3 -3\n4 -4\n")
	put(t, filepath.Join(dir, "index_features.txt"), "0\n")
	put(t, filepath.Join(dir, "index_target.txt"), "1\n")
	for s := range 3 {
		put(t, filepath.Join(dir, fmt.Sprintf("index_test_%d.txt", s)), fmt.Sprintln(s))
	}
}

// The seed chooses a split, and every seed has one.
func TestUCISeeds(t *testing.T) {
	folder := t.TempDir()
	s := uciTable("yacht", "yacht", "")
	s.Splits = 3
	putText(t, filepath.Join(folder, "uci", "yacht", "data"))
	for seed := range uint64(7) {
		p, err := s.Table(folder, seed)
		if err != nil {
			t.Fatal(err)
		}
		if y := p.Test.Y.Float64s(); p.Validation != nil || !slices.Equal(y, []float64{-1 - float64(seed%3)}) || p.Train.N() != 3 {
			t.Errorf("seed %d: test targets %v of %d and %d rows", seed, y, p.Train.N(), p.Test.N())
		}
	}
	// A download that is not complete is a missing one.
	if err := os.Remove(filepath.Join(folder, "uci", "yacht", "data", "index_test_1.txt")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Table(folder, 1)
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Errorf("error %v, want a MissingError", err)
	}
	// An archive comes first.
	put(t, filepath.Join(folder, "uci", "yacht.npz"), "no archive")
	_, err = s.Table(folder, 0)
	fixture.OneLine(t, err, filepath.Join("uci", "yacht.npz")+": ")
}

// The list of files names every file once, below the folder of its set.
func TestUCIFiles(t *testing.T) {
	total := 0
	for _, s := range uci() {
		names := map[string]bool{}
		for _, f := range s.Files {
			names[filepath.Base(f.Name)] = true
			if !fs.ValidPath(f.Name) || !strings.Contains(f.Name, "/data/") || f.Size < 2 || len(f.SHA256) != 64 {
				t.Errorf("%s: %+v", s.Name, f)
			}
		}
		for split := range uciSplits {
			names[fmt.Sprintf("index_test_%d.txt", split)] = true
		}
		if len(names) != 3+uciSplits || !names["data.txt"] || !names["index_features.txt"] || !names["index_target.txt"] {
			t.Errorf("%s has the files %v", s.Name, names)
		}
		total += len(s.Files)
	}
	if lines := strings.Count(uciFiles, "\n"); total != lines {
		t.Errorf("the sets have %d files, the list %d", total, lines)
	}
}
