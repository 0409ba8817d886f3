package pass

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Record says that a part is finished, and what its shard is.
type Record struct {
	Job   string   `json:"job"`  // its Key
	Part  int      `json:"part"` // its number
	Rows  int64    `json:"rows"`
	Shard string   `json:"shard"` // the file's name
	Bytes int64    `json:"bytes"`
	Sum   string   `json:"sha256"`
	Notes []string `json:"notes,omitempty"` // on the rows, for people
}

// name returns that of a part's file.
func name(part int, ending string) string { return fmt.Sprintf("part-%06d%s", part, ending) }

// record returns that of a part, or nil if the part is not finished. A record of another job is
// an error.
func (j *Job) record(dir string, part int) (*Record, error) {
	path := filepath.Join(dir, name(part, ".json"))
	r := new(Record)
	if err := readJSON(path, r); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if r.Job != j.Key() || r.Part != part || r.Shard != name(part, j.Task.ending()) {
		return nil, fmt.Errorf("%s: a shard of another pass, part %d of the job %s, expected part %d of %s", path, r.Part, r.Job, part, j.Key())
	}
	info, err := os.Stat(filepath.Join(dir, r.Shard))
	if err != nil || info.Size() != r.Bytes {
		return nil, nil // lost, or written again at this moment
	}
	return r, nil
}

// summed counts and sums what is written.
type summed struct {
	to    io.Writer
	hash  hash.Hash
	bytes int64
}

func newSummed(w io.Writer) *summed { return &summed{to: w, hash: sha256.New()} }

// Write implements io.Writer.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.hash.Write(p[:n])
	s.bytes += int64(n)
	return n, err
}

func (s *summed) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// copyTo copies the shard of a record and compares its sum.
func (r *Record) copyTo(w io.Writer, dir string) error {
	path := filepath.Join(dir, r.Shard)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := newSummed(w)
	if _, err := io.Copy(s, bufio.NewReaderSize(f, 1<<20)); err != nil {
		return err
	}
	if s.bytes != r.Bytes || s.sum() != r.Sum {
		return fmt.Errorf("%s: damaged: its %d bytes have the SHA-256 sum %.12s…, expected %d with %.12s…; remove it, and do its part again", path, s.bytes, s.sum(), r.Bytes, r.Sum)
	}
	return nil
}
