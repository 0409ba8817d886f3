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

// Shard describes the result of a finished part. Its own file, with the ending .json, is the record of the part.
type Shard struct {
	Job   string   `json:"job"`             // identifies the job
	Part  int      `json:"part"`            // number of the part, from 0
	Rows  int64    `json:"rows"`            // number of rows in the part
	Name  string   `json:"shard"`           // name of the shard's file
	Bytes int64    `json:"bytes"`           // size of the shard
	Sum   string   `json:"sha256"`          // SHA-256 sum of the shard, in hexadecimal digits
	Notes []string `json:"notes,omitempty"` // sentences about the rows, for people
}

// name returns the name of a part's file with the given ending.
func name(part int, ending string) string { return fmt.Sprintf("part-%06d%s", part, ending) }

// record returns the record of a part in the folder dir, or nil if the part is not finished. A
// record of another job is an error.
func (j *Job) record(dir string, part int) (*Shard, error) {
	path := filepath.Join(dir, name(part, ".json"))
	r := new(Shard)
	if err := readJSON(path, r); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if r.Job != j.key() || r.Part != part || r.Name != name(part, j.Task.ending()) {
		return nil, fmt.Errorf("%s: a shard of another pass, part %d of the job %s, expected part %d of %s", path, r.Part, r.Job, part, j.key())
	}
	info, err := os.Stat(filepath.Join(dir, r.Name))
	if err != nil || info.Size() != r.Bytes {
		return nil, nil // the shard is lost, or is written at this moment
	}
	return r, nil
}

// summed is a writer that counts the bytes and computes their SHA-256 sum.
type summed struct {
	to    io.Writer // receives the bytes
	hash  hash.Hash // SHA-256 of the bytes
	bytes int64     // number of bytes so far
}

// newSummed returns a writer that passes the bytes on to w.
func newSummed(w io.Writer) *summed { return &summed{to: w, hash: sha256.New()} }

// Write implements io.Writer.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.hash.Write(p[:n])
	s.bytes += int64(n)
	return n, err
}

// sum returns the SHA-256 sum in hexadecimal digits.
func (s *summed) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// copyTo copies the shard of the record in the folder dir to w. A shard that differs from the record
// is an error.
func (r *Shard) copyTo(w io.Writer, dir string) error {
	path := filepath.Join(dir, r.Name)
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
