package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/internal/atomicfile"
)

// logHead is the first line of a file of labels: the state before the first label of the file. Labels before that one are no longer in the file.
type logHead struct {
	Model   string            `json:"model"`   // name of the model
	Version string            `json:"version"` // version of the model
	Labels  int               `json:"labels"`  // labels so far
	Online  *calibrate.Online `json:"online"`  // intervals that adapt
	Last    []bool            `json:"last"`    // see outcomes
	Days    []day             `json:"days"`    // see outcomes
}

// labelLog is the file of labels.
type labelLog struct {
	path  string   // path of the file
	file  *os.File // open for appending; nil after a failed opening
	size  int64    // bytes of whole lines
	lines int      // lines after the head
	cut   cut      // place from which on the next compaction keeps the lines
}

// cut is a place of the file of labels.
type cut struct {
	head  []byte // line with the state at the place; nil: no place yet
	size  int64  // bytes before the place
	lines int    // lines after the head and before the place
}

// append puts n lines on the disk, all or none.
func (l *labelLog) append(text []byte, n int) error {
	if l.file == nil {
		return errors.New("the file cannot be opened: start the server again")
	}
	_, err := l.file.Write(text)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		_, seek := l.file.Seek(l.size, io.SeekStart)
		return errors.Join(err, l.file.Truncate(l.size), seek)
	}
	l.size, l.lines = l.size+int64(len(text)), l.lines+n
	return nil
}

// mostPart is the number of bytes of labels after which a file is compacted, however few lines it has.
const mostPart = 64 << 20

// logPath returns the path of the file of labels for a version of a model.
func logPath(folder string, v *version) string {
	return filepath.Join(folder, url.PathEscape(v.name)+"-"+v.hash+".jsonl")
}

// openOutcomes reads the file of a model's version, and goes on from there. A line that was cut off at the end, for which no client
// has an answer, is removed.
func openOutcomes(v *version, options Options) (o *outcomes, err error) {
	o = &outcomes{name: v.name, version: v.hash, o: options, log: labelLog{path: logPath(options.Outcomes, v)}, known: map[labelled]bool{}, train: v.drift, recent: newRecent(options.OutcomeRows)}
	if o.online, err = calibrate.NewOnline(options.OutcomeLevel, firstScores(v.model)); err != nil {
		return nil, fmt.Errorf("%s: %w", o.log.path, err)
	}
	if _, err := os.Stat(o.log.path); errors.Is(err, os.ErrNotExist) {
		if err := o.write(o.head(), nil); err != nil {
			return nil, err
		}
	}
	if err := o.log.open(); err != nil {
		return nil, err
	}
	if err := o.replay(); err != nil {
		o.close()
		return nil, fmt.Errorf("%s, line %w", o.log.path, err)
	}
	return o, nil
}

// open opens the file for appending.
func (l *labelLog) open() (err error) {
	l.file, err = os.OpenFile(l.path, os.O_RDWR, 0o644)
	return err
}

// head returns the first line of a file that begins now.
func (o *outcomes) head() []byte {
	raw, err := json.Marshal(logHead{o.name, o.version, o.labels, o.online, o.last, o.days})
	if err != nil {
		panic(err) // all numbers are finite
	}
	return append(raw, '\n')
}

// write replaces the file by a head and the lines of rest.
func (o *outcomes) write(head, rest []byte) error {
	return atomicfile.Write(o.log.path, 0o644, func(w io.Writer) error {
		_, err := w.Write(head)
		if err == nil {
			_, err = w.Write(rest)
		}
		return err
	})
}

// readHead reads the first line of a file of labels.
func readHead(text []byte) (h logHead, rest []byte, err error) {
	line, rest, ok := bytes.Cut(text, []byte("\n"))
	if err = json.Unmarshal(line, &h); err != nil || !ok || h.Online == nil || h.Labels < 0 || len(h.Last) > coverageWindow {
		return h, nil, because(err, "1: expected the first line of a file of labels of valla serve")
	}
	return h, rest, nil
}

// readLine reads a line with an outcome.
func readLine(text []byte, number int) (line outcome, err error) {
	if err = json.Unmarshal(text, &line); err != nil {
		err = fmt.Errorf("%d: expected an outcome such as {\"time\":1750000000,\"score\":0.5,\"x\":[1,2],\"y\":3}: %w", number, err)
	}
	return line, err
}

// resume takes over the state before the first label of the file. If the level is another one, the intervals begin with the last scores.
func (o *outcomes) resume(h logHead) (err error) {
	switch {
	case h.Online.Level() == o.o.OutcomeLevel:
		o.online = h.Online
	case h.Labels > 0:
		if o.online, err = calibrate.NewOnline(o.o.OutcomeLevel, h.Online.Conformal().Scores); err != nil {
			return err
		}
	}
	o.labels, o.last, o.days = h.Labels, h.Last, h.Days
	return o.checkDays()
}

// replay reads the file.
func (o *outcomes) replay() error {
	text, err := io.ReadAll(o.log.file)
	if err != nil {
		return err
	}
	h, rest, err := readHead(text)
	if err != nil {
		return err
	}
	if h.Version != o.version {
		return fmt.Errorf("1: labels of the version %q, expected %q", short(h.Version), o.version)
	}
	if err := o.resume(h); err != nil {
		return fmt.Errorf("1: %w", err)
	}
	for o.log.size = int64(len(text) - len(rest)); ; {
		raw, more, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			break
		}
		line, err := readLine(raw, o.log.lines+2)
		if err != nil {
			return err
		}
		if err := o.apply(line); err != nil {
			return fmt.Errorf("%d: %w", o.log.lines+2, err)
		}
		o.log.size, o.log.lines, rest = o.log.size+int64(len(raw))+1, o.log.lines+1, more
		o.mark()
	}
	if err := o.log.file.Truncate(o.log.size); err != nil {
		return err
	}
	_, err = o.log.file.Seek(o.log.size, io.SeekStart)
	return err
}

// full reports whether a part of a file has as many lines or bytes as the options allow.
func (o *outcomes) full(lines int, size int64) bool {
	return lines >= o.o.OutcomeRows || size >= mostPart
}

// mark notes the present end of the file as the place from which on the next compaction keeps the lines, once the part before is full.
func (o *outcomes) mark() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := &o.log; l.cut.head == nil && o.full(l.lines, l.size) {
		l.cut = cut{o.head(), l.size, l.lines}
	}
}

// compact removes the oldest lines once the part after the mark is full, too. The new file replaces the old one as a whole, so that a
// crash leaves one of them. The file therefore has at least the last OutcomeRows labels, and at most twice as many.
func (o *outcomes) compact() error {
	o.mark()
	l := &o.log
	c := l.cut
	if c.head == nil || !o.full(l.lines-c.lines, l.size-c.size) {
		return nil
	}
	rest := make([]byte, l.size-c.size)
	if _, err := l.file.ReadAt(rest, c.size); err != nil {
		return err
	}
	before, err := l.file.Stat()
	if err != nil {
		return err
	}
	err = errors.Join(l.file.Close(), o.write(c.head, rest))
	l.file = nil
	now, other := os.Stat(l.path)
	if err = errors.Join(err, other, l.open()); l.file == nil {
		return err
	}
	if now != nil && !os.SameFile(before, now) {
		l.size, l.lines, l.cut = int64(len(c.head)+len(rest)), l.lines-c.lines, cut{}
		o.forget(c.lines)
		o.mark()
	}
	_, other = l.file.Seek(l.size, io.SeekStart)
	return errors.Join(err, other)
}

// forget leaves the rows of the oldest lines, which are no longer in the file, out of those that are known. The predictions of their requests
// go with them, so that no label can count twice.
func (o *outcomes) forget(lines int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range o.labelled[:lines] {
		delete(o.known, key)
		o.recent.remove(key.id)
	}
	o.labelled = slices.Clone(o.labelled[lines:])
}
