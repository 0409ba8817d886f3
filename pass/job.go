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
	"reflect"
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/strictjson"
)

// Task says what a pass does with the rows.
type Task string

const (
	Predict Task = "predict" // write predictions for the rows
	Fit     Task = "fit"     // add the rows up for the posterior of all rows
)

// ending returns how the names of the task's shards end.
func (t Task) ending() string {
	if t == Fit {
		return ".zip"
	}
	return ".csv"
}

// Options say what a pass does.
type Options struct {
	Task     Task      `json:"task"`             // predict the rows, or add them up
	Header   string    `json:"header,omitempty"` // see [data.TableReader]
	PartSize int64     `json:"part_size"`        // bytes of a part, approximately; 0 means 64 MiB
	Level    float64   `json:"level,omitempty"`  // probability of the intervals of predictions; 0 means 0.95
	Link     task.Link `json:"link,omitempty"`   // link of class probabilities; only [task.Probit]
	// Quantiles are probabilities, each above 0 and below 1. Predictions of a regression have a further column of
	// quantiles of each target for each probability.
	Quantiles []float64 `json:"quantiles,omitempty"`
	// Runtime makes ONNX Runtime compute the predictions of a part, on the processor Provider; see [valla.RuntimeOptions]. A part has the
	// same bits on every worker only if the library and the processor are the same.
	Runtime  bool   `json:"onnxruntime,omitempty"`
	Provider string `json:"provider,omitempty"` // see Runtime; "" means cpu
	// Above are numbers. Predictions of a regression have a further column for each target and number: the probability
	// that the target is larger.
	Above []float64 `json:"above,omitempty"`
}

// defaultPartSize is so large that the cost of a part beside its rows does not count, and so
// small that no worker waits long for the last part.
const defaultPartSize = 64 << 20

// Job describes a pass, so that any worker can do any part of it.
type Job struct {
	Format string `json:"format"` // version of the job's file
	Options
	Model  string `json:"model"`        // path of the model file
	Digest string `json:"model_sha256"` // SHA-256 sum of the model file, in hexadecimal digits
	Data   []File `json:"data"`         // files of rows
	Count  int    `json:"parts"`        // number of parts

	Library string `json:"-"` // path of the library of ONNX Runtime on this machine, see [valla.RuntimeOptions]

	Parts []data.Part `json:"-"` // parts of the files; they follow from Data and PartSize
}

// File describes a file of rows at the time when the job began.
type File struct {
	Path     string `json:"path"`     // as the user gave it
	Size     int64  `json:"size"`     // bytes; 0 for a folder
	Modified int64  `json:"modified"` // nanoseconds since 1970; the sum of a folder's and of those in it
}

const (
	format   = "valla pass 1"
	jobFile  = "job.json"
	manifest = "manifest.json"
)

// New returns the job that applies the model file model to the files of rows at paths. Errors
// about options wrap valla.ErrSetting.
func New(o Options, model string, paths ...string) (*Job, error) {
	o.PartSize = cmp.Or(o.PartSize, defaultPartSize)
	if o.Task == Predict {
		o.Level = cmp.Or(o.Level, 0.95)
	}
	switch {
	case o.Task != Predict && o.Task != Fit:
		return nil, settings.Errorf("the task %q, expected %s or %s", o.Task, Predict, Fit)
	case o.Link == task.MonteCarlo:
		return nil, settings.Errorf("the link %s in parts: its samples depend on the number of the row in the whole data, which a part does not contain; expected %s", o.Link, task.Probit)
	case !(o.Level >= 0 && o.Level < 1):
		return nil, settings.Errorf("the level %v, expected a probability above 0 and below 1", o.Level)
	case slices.ContainsFunc(o.Quantiles, func(p float64) bool { return !(p > 0 && p < 1) }):
		return nil, settings.Errorf("the quantiles %v, expected probabilities above 0 and below 1", o.Quantiles)
	case slices.ContainsFunc(o.Above, func(c float64) bool { return c-c != 0 }):
		return nil, settings.Errorf("probabilities above %v, expected finite numbers", o.Above)
	case o.Task != Predict && len(o.Quantiles)+len(o.Above) > 0:
		return nil, settings.Errorf("quantiles or probabilities above a number with the task %s, expected %s", o.Task, Predict)
	case o.Task != Predict && o.Runtime:
		return nil, settings.Errorf("ONNX Runtime with the task %s, expected %s", o.Task, Predict)
	case len(paths) == 0:
		return nil, settings.Errorf("no files of rows")
	case slices.Contains(paths, data.Stdin):
		return nil, settings.Errorf("the standard input cannot be read in parts, expected files")
	}
	j := &Job{Format: format, Options: o, Model: model}
	var err error
	if j.Digest, err = atomicfile.Digest(model); err != nil {
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

// divide fills in the parts of j, and checks their number.
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
	if len(j.Parts) == 0 {
		return fmt.Errorf("%s: no rows", strings.Join(paths, ", "))
	}
	if j.Count != len(j.Parts) {
		return fmt.Errorf("the data have %d parts, expected %d", len(j.Parts), j.Count)
	}
	return nil
}

// stat returns the description of the file or folder at path.
func stat(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	f := File{path, info.Size(), info.ModTime().UnixNano()}
	if !info.IsDir() {
		return f, nil
	}
	f.Size = 0 // the size of a folder says nothing
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&os.ModeSymlink == 0 { // they are no classes
			continue
		}
		inner, err := os.Stat(filepath.Join(path, e.Name())) // an image more changes the time of the folder of its class alone
		if err != nil {
			return File{}, err
		}
		if inner.IsDir() {
			f.Modified += inner.ModTime().UnixNano()
		}
	}
	return f, err
}

// key identifies the job: two jobs with the same key have the same shards. The path of the model
// does not count.
func (j *Job) key() string {
	c := *j
	c.Model = ""
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // all fields can be marshalled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Join writes the job to the folder dir, and makes the folder if there is none. A folder that has
// another job already is an error, and so is one whose rows or model the pass would replace.
func (j *Job) Join(dir string) error {
	if err := j.spares(dir); err != nil {
		return err
	}
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

// spares returns an error if the files of the pass in the folder dir would replace the model or a file of rows.
func (j *Job) spares(dir string) error {
	to, err := os.Stat(dir)
	if err != nil {
		return nil // nothing is there
	}
	for _, f := range append(slices.Clone(j.Data), File{Path: j.Model}) {
		from, err := os.Stat(filepath.Dir(f.Path))
		base := filepath.Base(f.Path)
		if err == nil && os.SameFile(from, to) && (base == jobFile || base == manifest || strings.HasPrefix(base, "part-")) {
			return settings.Errorf("%s: the pass would replace it, take another folder than %s", f.Path, dir)
		}
	}
	return nil
}

// Load returns the job in the folder dir. Files of rows that have changed since the job began are
// an error.
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

// read returns the job in the folder dir. It does not look at the files of rows.
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

// differs returns a phrase about how the job there differs from j, and "" where both are the same.
func (j *Job) differs(there *Job) string {
	if j.key() == there.key() {
		return ""
	}
	if there.Digest != j.Digest {
		return fmt.Sprintf("its model has the SHA-256 sum %.12s…, found %.12s… of %s", there.Digest, j.Digest, j.Model)
	}
	if !reflect.DeepEqual(there.Options, j.Options) {
		return fmt.Sprintf("its options are %+v, found %+v", there.Options, j.Options)
	}
	for i, f := range there.Data {
		if i < len(j.Data) && f != j.Data[i] {
			if found := j.Data[i]; f.Path != found.Path || f.Size != found.Size {
				return fmt.Sprintf("its data are %s, found %s", f.text(), found.text())
			}
			return fmt.Sprintf("its data are %s of another time", f.text())
		}
	}
	return fmt.Sprintf("its data are %d files in %d parts, found %d in %d", len(there.Data), there.Count, len(j.Data), j.Count)
}

// unchanged returns an error if the file has changed since the job began.
func (f File) unchanged() error {
	now, err := stat(f.Path)
	if err == nil && now != f {
		err = fmt.Errorf("%s has changed since the pass began: found %d bytes of another time", f.text(), now.Size)
	}
	return err
}

// text returns the name and the size of the file, for messages.
func (f File) text() string { return fmt.Sprintf("%s of %d bytes", f.Path, f.Size) }

// writeJSON writes v as a JSON document to the file at path.
func writeJSON(path string, v any) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(v)
	})
}

// readJSON reads the JSON document at path into v. Unknown keys are an error.
func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(text, v); err != nil {
		return fmt.Errorf("%s: expected a file of a pass: %w", path, err)
	}
	return nil
}
