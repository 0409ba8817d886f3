package pass

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Manifest is the list of all shards of a finished job.
type Manifest struct {
	Job    string    `json:"job"`
	Rows   int64     `json:"rows"`
	Shards []*Record `json:"shards"`
}

// Finish writes the manifest, or says which parts are missing.
func (j *Job) Finish(dir string) (*Manifest, error) {
	m, err := j.Finished(dir)
	if err != nil {
		return nil, err
	}
	return m, writeJSON(filepath.Join(dir, manifest), m)
}

// Finished is Finish without writing.
func (j *Job) Finished(dir string) (*Manifest, error) {
	m := &Manifest{Job: j.Key()}
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

// Concatenate writes the shards of predictions one after the other, and compares their sums.
func (m *Manifest) Concatenate(w io.Writer, dir string) error {
	for _, r := range m.Shards {
		if err := r.copyTo(w, dir); err != nil {
			return err
		}
	}
	return nil
}
