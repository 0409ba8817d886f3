package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// A download gets one file.
type download struct {
	Options
	File
	part string // the path under which the file is kept until it is complete
	come int64  // size of the part in the latest transfer, in bytes
}

// A refusal says that a mirror failed to deliver. A failure of the disk and a cancellation
// are other errors.
type refusal struct {
	error
	final bool // asking again would not help
}

// run downloads the file from any mirror and renames it to its final name.
func (d *download) run(ctx context.Context) error {
	said := make([]refusal, len(d.Mirrors)) // the latest refusal of each
	for round := range d.Rounds {
		if round > 0 && !wait(ctx, d.Pause<<(round-1)) {
			return context.Cause(ctx)
		}
		for i, mirror := range d.Mirrors {
			if said[i].final {
				continue
			}
			err := d.try(ctx, strings.TrimSuffix(mirror, "/")+"/"+d.Name)
			if err == nil {
				return d.publish()
			}
			if !errors.As(err, &said[i]) {
				return err
			}
		}
		if !slices.ContainsFunc(said, func(r refusal) bool { return !r.final }) {
			break
		}
	}
	return d.unavailable(said)
}

// wait pauses, and returns false if ctx ended the pause.
func wait(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *download) unavailable(said []refusal) error {
	if len(said) == 0 {
		return fmt.Errorf("%w: it has no public address", ErrUnavailable)
	}
	words := make([]string, len(said))
	for i, mirror := range d.Mirrors {
		words[i] = fmt.Sprintf("%s: %v", mirror, said[i])
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(words, "; "))
}

// try completes the part from one address and checks it. Where the sum is wrong, the bytes
// that were there before may be the reason; try then asks once more without them.
func (d *download) try(ctx context.Context, url string) error {
	for {
		have, err := d.have()
		if err != nil {
			return err
		}
		if have < d.Size || !d.known() {
			if err := d.transfer(ctx, url, have); err != nil {
				return err
			}
		}
		wrong := d.check(d.part)
		if !errors.Is(wrong, errContent) {
			return wrong // nil, or an error of the disk
		}
		if err := os.Remove(d.part); err != nil {
			return err
		}
		if have == 0 {
			return refusal{wrong, true}
		}
	}
}

// have returns how many bytes the part holds. It deletes a part that is longer than the
// file, and any part of a file of unknown size, because neither can be continued.
func (d *download) have() (int64, error) {
	info, err := os.Stat(d.part)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if info.Size() > d.Size {
		return 0, os.Remove(d.part)
	}
	return info.Size(), nil
}

// kept returns the end of an error message: how many bytes are kept for the next call.
func (d *download) kept() string {
	have, err := d.have()
	if err != nil || have == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d bytes are kept in %s and need not come again)", have, d.Size, d.part)
}

// tell calls OnProgress: done bytes of total are on the disk. total is 0 if it is not known.
func (d *download) tell(done, total int64) {
	if d.OnProgress != nil {
		d.OnProgress(d.Name, done, total)
	}
}

// publish renames the part, which has been checked, to the file's name. It writes the
// content to the disk first: if a power cut undoes the renaming, the part is still there.
func (d *download) publish() error {
	f, err := os.OpenFile(d.part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(d.part, strings.TrimSuffix(d.part, partial))
}
