// Package fetch downloads public data sets. Each file comes from the first of several
// mirrors that delivers it, and a download that broke off is continued. A file gets its
// name only when its size and its SHA-256 sum are as expected or, where these are
// not known, when reading it finds no fault.
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

// Options say to which folder and how to download. Dir is needed. The zero value of any
// other field means the default that its comment gives.
type Options struct {
	Dir     string        // the folder of the files; it is made where it is absent
	Client  *http.Client  // default http.DefaultClient; a client with a time limit ends long downloads
	Mirrors []string      // default the data set's
	Stall   time.Duration // a mirror is given up after this time without a byte; default 30 s
	Rounds  int           // how many times all mirrors are tried, one after the other; default 3
	Pause   time.Duration // before the second round, doubled before each further one; default 2 s
	// OnProgress, if it is not nil, is called when the transfer of a file begins and whenever
	// bytes of the file have come. done bytes of total are on the disk; total is 0 as long as
	// it is not known. When the file is complete, the last call has done equal to total.
	OnProgress func(file string, done, total int64)

	limit int64 // of a file of unknown size, in bytes; default maxUnknown
}

func (o Options) filled(d Dataset) Options {
	if len(o.Mirrors) == 0 {
		o.Mirrors = d.Mirrors
	}
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.Rounds = cmp.Or(max(o.Rounds, 0), 3)
	o.Pause = cmp.Or(o.Pause, 2*time.Second)
	o.limit = cmp.Or(o.limit, maxUnknown)
	return o
}

// Get downloads the files of d that o.Dir does not yet hold with the right content. It
// replaces files with other content, and it stops at the first file that it cannot get.
//
// During its download a file is called NAME.part. When a mirror breaks off or ctx is
// cancelled, this part stays. The next attempt, at the same mirror or another, asks for the
// rest only (RFC 9110, section 14). If the sum of the complete file is wrong, Get deletes the
// part and asks the mirror once more for the whole file. Get does not continue a file of
// unknown sum, because nothing could tell whether both parts come from the same version.
//
// If a mirror answers that it does not have a file, or sends another file, Get does not ask
// it for that file again. If a mirror cannot be reached, stalls, breaks off or fails (status
// 408, 429, 5xx), Get tries it again in the next round.
//
// The error is one line. It wraps [ErrUnavailable] and holds the last answer of every
// mirror, or it wraps the error of ctx or of the disk. Two calls must not use the same
// folder at the same time, because they would write the same files. Neither would then take
// a mixture for complete.
func Get(ctx context.Context, d Dataset, o Options) error {
	if err := o.filled(d).get(ctx, d); err != nil {
		return fmt.Errorf("fetch %s: %w", d.Name, err)
	}
	return nil
}

func (o Options) get(ctx context.Context, d Dataset) error {
	missing, err := d.Missing(o.Dir)
	if err != nil {
		return err
	}
	for _, f := range missing {
		if err := os.MkdirAll(filepath.Dir(f.in(o.Dir)), 0o755); err != nil {
			return err
		}
		dl := download{Options: o, File: f, part: f.in(o.Dir) + partial}
		if err := dl.run(ctx); err != nil {
			return fmt.Errorf("%s: %w%s%s", f.Name, err, dl.kept(), d.advice(err, o.Dir))
		}
	}
	return nil
}

// advice returns the end of an error message: how to get the files of dir by hand, or "".
func (d Dataset) advice(err error, dir string) string {
	if d.Manual == "" || !errors.Is(err, ErrUnavailable) {
		return ""
	}
	return fmt.Sprintf(" (folder %s: %s)", dir, d.Manual)
}

// in returns the path of the file in the folder dir.
func (f File) in(dir string) string { return filepath.Join(dir, filepath.FromSlash(f.Name)) }

// check returns nil if the file at path has the content of f, an errContent if it has
// another, and otherwise the error of reading it.
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
