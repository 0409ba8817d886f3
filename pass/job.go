package pass

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// Task says what a pass does with the rows.
type Task string

const (
	Predict Task = "predict" // predicts each of them, see [Score]
	Fit     Task = "fit"     // adds them up for the posterior of all rows, see [Sum]
)

// ending is that of the shards.
func (t Task) ending() string {
	if t == Fit {
		return ".zip"
	}
	return ".csv"
}

// Options say what a pass does.
type Options struct {
	Task     Task      `json:"task"`
	Header   string    `json:"header,omitempty"` // see [data.TableReader]
	PartSize int64     `json:"part_size"`        // about the bytes of a part; 0 means [DefaultPartSize]
	Level    float64   `json:"level,omitempty"`  // of the intervals of predictions; 0 means 0.95
	Link     task.Link `json:"link,omitempty"`   // of classes; only [task.Probit], see Score
}

// DefaultPartSize is so large that what a part costs beside its rows does not count, and so
// small that the last parts keep no worker waiting.
const DefaultPartSize = 64 << 20

// Job describes a pass, so that any worker can do any part of it.
type Job struct {
	Format string `json:"format"`
	Options
	Model  string `json:"model"`        // the path of the model
	Digest string `json:"model_sha256"` // of its file
	Data   []File `json:"data"`
	Count  int    `json:"parts"`

	Parts []data.Part `json:"-"` // they follow from Data and PartSize
}

// File is a file of rows as it was when the job began.
type File struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since 1970
}

const (
	format   = "valla pass 1"
	jobFile  = "job.json"
	manifest = "manifest.json"
)

// New returns the job of a model file on files of rows. The errors about options wrap
// [settings.ErrSetting].
func New(o Options, model string, paths ...string) (*Job, error) {
	o.PartSize = cmp.Or(o.PartSize, DefaultPartSize)
	if o.Task == Predict {
		o.Level = cmp.Or(o.Level, 0.95)
	}
	switch {
	case o.Task != Predict && o.Task != Fit:
		return nil, settings.Errorf("the task %q, expected %s or %s", o.Task, Predict, Fit)
	case o.Link == task.MonteCarlo:
		return nil, settings.Errorf("the link %s in parts: its samples depend on the number of the row in the whole data, which a part does not know; expected %s", o.Link, task.Probit)
	case len(paths) == 0:
		return nil, settings.Errorf("no files of rows")
	case slices.Contains(paths, data.Stdin):
		return nil, settings.Errorf("the standard input cannot be read in parts, expected files")
	}
	j := &Job{Format: format, Options: o, Model: model}
	var err error
	if j.Digest, err = digest(model); err != nil {
		return nil, err
	}
	for _, p := range paths {
		f, err := stat(p)
		if err != nil {
			return nil, err
		}
		j.Data = append(j.Data, f)
	}
	return j, j.divide()
}

// divide lists the parts.
func (j *Job) divide() (err error) {
	var paths []string
	for _, f := range j.Data {
		paths = append(paths, f.Path)
	}
	if j.Parts, err = data.Divide(paths, j.PartSize); err != nil {
		return err
	}
	if j.Count == 0 {
		j.Count = len(j.Parts)
	}
	if j.Count != len(j.Parts) || j.Count == 0 {
		return fmt.Errorf("the data have %d parts, expected %d", len(j.Parts), j.Count)
	}
	return nil
}

func stat(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	f := File{path, info.Size(), info.ModTime().UnixNano()}
	if info.IsDir() {
		f.Size = 0 // it says nothing
	}
	return f, nil
}

// digest returns the SHA-256 sum of a file.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Key identifies the job: two jobs of the same key have the same shards. The place of the model
// does not count.
func (j *Job) Key() string {
	c := *j
	c.Model = ""
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // all fields can be marshalled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Join writes the job to a folder, which it makes where it is not there. If the folder has a
// job already, that must be the same one.
func (j *Job) Join(dir string) error {
	there, err := read(dir)
	switch {
	case err == nil:
		if what := j.differs(there); what != "" {
			return fmt.Errorf("%s belongs to another pass: %s; take another folder", filepath.Join(dir, jobFile), what)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, jobFile), j)
}

// Load returns the job in a folder. The data must be those with which it began.
func Load(dir string) (*Job, error) {
	j, err := read(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range j.Data {
		if err := f.unchanged(); err != nil {
			return nil, err
		}
	}
	if err := j.divide(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, jobFile), err)
	}
	return j, nil
}

// read is Load without a look at the data.
func read(dir string) (*Job, error) {
	path := filepath.Join(dir, jobFile)
	j := new(Job)
	if err := readJSON(path, j); err != nil {
		return nil, err
	}
	if j.Format != format || j.Count < 1 || j.PartSize < 1 {
		return nil, fmt.Errorf("%s: expected a job of the format %q, found %q with %d parts", path, format, j.Format, j.Count)
	}
	return j, nil
}

// differs names what makes two jobs different; "" for the same.
func (j *Job) differs(there *Job) string {
	if j.Key() == there.Key() {
		return ""
	}
	if there.Digest != j.Digest {
		return fmt.Sprintf("its model has the SHA-256 sum %.12s…, that of %s is %.12s…", there.Digest, j.Model, j.Digest)
	}
	if there.Options != j.Options {
		return fmt.Sprintf("its options are %+v, found %+v", there.Options, j.Options)
	}
	for i, f := range there.Data {
		if i < len(j.Data) && f != j.Data[i] {
			return fmt.Sprintf("its data are %v, found %v", f, j.Data[i])
		}
	}
	return fmt.Sprintf("its data are %d files in %d parts, found %d in %d", len(there.Data), there.Count, len(j.Data), j.Count)
}

// unchanged returns an error if a file is not as it was when the job began.
func (f File) unchanged() error {
	now, err := stat(f.Path)
	if err == nil && now != f {
		err = fmt.Errorf("%v has changed since the pass began: found %d bytes of another time", f, now.Size)
	}
	return err
}

// String names the file with its size.
func (f File) String() string { return fmt.Sprintf("%s of %d bytes", f.Path, f.Size) }

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(v)
	})
}

// readJSON reads a document, which must be whole and have no unknown keys.
func readJSON(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: expected a file of a pass: %w", path, err)
	}
	return nil
}
