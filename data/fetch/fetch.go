// Package fetch downloads public data sets: each file from the first of several
// mirrors that delivers it, continued where an earlier try broke off, and put
// under its name only once its size and its SHA-256 sum are the expected ones or,
// where these are not known, once it has been read.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// ErrUnavailable is wrapped by the error about a file that no mirror delivered.
var ErrUnavailable = errors.New("no mirror delivered it")

// errContent is wrapped by errors about a file with other bytes than expected.
var errContent = errors.New("wrong content")

// partial is what is appended to the name of a file that is not complete.
const partial = ".part"

// Options say where to and how to download. Dir is needed; what else is zero
// stands for the value given here.
type Options struct {
	Dir      string        // the folder of the files, made where it is absent
	Client   *http.Client  // http.DefaultClient; a time limit of its own would end long downloads
	Mirrors  []string      // instead of the data set's
	Stall    time.Duration // without a byte after which a mirror is given up; 30 s
	Rounds   int           // how often the mirrors are tried, one after the other; 3
	Pause    time.Duration // before the second round, doubled before each further one; 2 s
	Progress io.Writer     // shows a bar if it is a terminal; nil shows nothing
}

func (o Options) filled(d Dataset) Options {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if len(o.Mirrors) == 0 {
		o.Mirrors = d.Mirrors
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Rounds < 1 {
		o.Rounds = 3
	}
	if o.Pause == 0 {
		o.Pause = 2 * time.Second
	}
	return o
}

// Get downloads those files of d that are not in o.Dir already, complete and
// right; one with other content is replaced. It stops at the first file that it
// cannot get.
//
// A file on its way is called NAME.part. When a mirror breaks off, or ctx is
// cancelled, it stays and the next try, of the same mirror or another, asks for
// the rest only (RFC 9110, section 14). Where the sum is wrong in the end it is
// deleted, and the mirror asked once more for the whole. A file of unknown sum is not
// continued: nobody could tell that both parts are of the same one.
//
// A mirror is given up for a file when it answers that it does not have it, or
// has another one; it is tried again, in the next round, when it cannot be
// reached, stalls, breaks off or fails (status 408, 429, 5xx).
//
// The error is one line. It wraps [ErrUnavailable] and holds the last word of
// every mirror, or wraps that of ctx, or of the disk. Two calls at a time must not
// use one folder: they would write the same files, though neither would take the
// mixture for complete.
func Get(ctx context.Context, d Dataset, o Options) error {
	if err := o.filled(d).get(ctx, d); err != nil {
		return fmt.Errorf("fetch %s: %w", d.Name, err)
	}
	return nil
}

func (o Options) get(ctx context.Context, d Dataset) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	missing, err := d.Missing(o.Dir)
	if err != nil {
		return err
	}
	for _, f := range missing {
		dl := download{Options: o, File: f, part: filepath.Join(o.Dir, f.Name+partial)}
		if err := dl.run(ctx); err != nil {
			return fmt.Errorf("%s: %w%s%s", f.Name, err, dl.kept(), d.advice(err, o.Dir))
		}
	}
	return nil
}

// advice says, for an error, what else to do for a file in dir.
func (d Dataset) advice(err error, dir string) string {
	if d.Manual == "" || !errors.Is(err, ErrUnavailable) {
		return ""
	}
	return fmt.Sprintf(" (folder %s: %s)", dir, d.Manual)
}

// Missing returns the files that are not in the folder dir or have other content
// than expected. It reads those of the right size to the end. An error is one of
// reading.
func (d Dataset) Missing(dir string) ([]File, error) {
	var missing []File
	for _, f := range d.Files {
		there, err := f.in(dir)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// in says whether f, or a file that will do as well, is in a folder.
func (f File) in(dir string) (bool, error) {
	err := f.check(filepath.Join(dir, f.Name))
	for _, name := range f.Or {
		if err == nil {
			break
		}
		if name != f.Name || f.known() {
			err = File{Check: f.Check}.check(filepath.Join(dir, name))
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errContent) {
		return false, nil
	}
	return err == nil, err
}

// check returns nil if the file at path is f, an errContent if it is another,
// and otherwise why it cannot be read.
func (f File) check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if !f.known() {
		if err := f.Check(path); err != nil {
			return fmt.Errorf("%w: %w", errContent, err)
		}
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.Size {
		return fmt.Errorf("%w: expected %d bytes, found %d", errContent, f.Size, info.Size())
	}
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != f.SHA256 {
		return fmt.Errorf("%w: expected sha256 %s, found %s", errContent, f.SHA256, sum)
	}
	return nil
}
