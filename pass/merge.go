package pass

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Manifest lists all shards of a finished job.
type Manifest struct {
	Job    string   `json:"job"`    // identifies the job
	Rows   int64    `json:"rows"`   // number of rows in all parts
	Shards []*Shard `json:"shards"` // records of the parts, in their order
}

// Finish writes the manifest of the job to the folder dir and returns it. If parts are missing,
// the error names them.
func (j *Job) Finish(dir string) (*Manifest, error) {
	m, err := j.collect(dir)
	if err != nil {
		return nil, err
	}
	return m, writeJSON(filepath.Join(dir, manifest), m)
}

// collect returns the manifest of the records in the folder dir.
func (j *Job) collect(dir string) (*Manifest, error) {
	m := &Manifest{Job: j.key()}
	var missing []string
	for i := range j.Count {
		r, err := j.record(dir, i)
		switch {
		case err != nil:
			return nil, err
		case r == nil:
			missing = append(missing, fmt.Sprint(i))
		default:
			m.Shards, m.Rows = append(m.Shards, r), m.Rows+r.Rows
		}
	}
	if n := len(missing); n > 0 {
		const most = 10
		if n > most {
			missing = append(missing[:most], "…")
		}
		return nil, fmt.Errorf("%s: %d of %d parts are not finished: %s", dir, n, j.Count, strings.Join(missing, ", "))
	}
	if m.Rows == 0 {
		return nil, fmt.Errorf("%s: no rows", j.Data[0].Path)
	}
	return m, nil
}

// Concatenate writes the shards of predictions in the folder dir to w, in the order of the parts.
// A shard whose SHA-256 sum differs from its record is an error.
func (m *Manifest) Concatenate(w io.Writer, dir string) error {
	for _, r := range m.Shards {
		if err := r.copyTo(w, dir); err != nil {
			return err
		}
	}
	return nil
}
