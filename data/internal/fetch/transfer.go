package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// errStalled is the cause of the cancellation when no bytes come for too long.
var errStalled = errors.New("stalled")

// transfer downloads the file from address. It appends to the have bytes of the part, or
// replaces them if the mirror sends the whole file. The error is a refusal, or an error of
// ctx or of the disk. The part keeps the bytes that have come.
func (d *download) transfer(ctx context.Context, address string, have int64) error {
	d.come = have
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(d.Stall, func() { cancel(errStalled) })
	defer idle.Stop()
	err := d.receive(watched, address, have, func() { idle.Reset(d.Stall) })
	var refused refusal
	switch {
	case !errors.As(err, &refused):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case context.Cause(watched) == errStalled:
		return refusal{fmt.Errorf("stalled after %s: none for %v", d.progress(d.come), d.Stall), false}
	}
	return refused
}

// receive does the work of transfer, and it calls alive whenever bytes come.
func (d *download) receive(ctx context.Context, address string, have int64, alive func()) error {
	resp, err := d.request(ctx, address, have)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	at, err := d.start(resp, have)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.part, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close() // the content counts once it has been checked and synchronised
	return d.save(f, at, resp.Body, alive)
}

// request asks for the file from the byte have on.
func (d *download) request(ctx context.Context, address string, have int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, refusal{err, true}
	}
	// The sums belong to the compressed files, so that the mirror must send them unchanged.
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	if err := d.allowed(req); err != nil {
		return nil, refusal{err, true}
	}
	client := *d.Client
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := d.allowed(req); err != nil {
			return err
		}
		if d.Client.CheckRedirect != nil {
			return d.Client.CheckRedirect(req, via)
		}
		if len(via) >= 10 { // as net/http does by default
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // leaves out the address, which the message has already
		}
		return nil, refusal{err, false}
	}
	return resp, nil
}

// maxUnknown bounds a file of unknown size, in bytes.
const maxUnknown = 2 << 30

// allowed refuses an address, of a mirror or a redirection, that anybody on the way could answer,
// for a file of which no sum is known.
func (d *download) allowed(req *http.Request) error {
	if !d.known() && req.URL.Scheme != "https" {
		return fmt.Errorf("%s://%s: expected https, since no sum of the file is known", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

// start returns the number of the byte with which an answer begins, after a request for
// the bytes from have on. It refuses an answer whose header shows that it is another file.
func (d *download) start(resp *http.Response, have int64) (at int64, err error) {
	switch code := resp.StatusCode; code {
	case http.StatusOK: // the mirror sends the whole file, whatever was asked for
	case http.StatusPartialContent:
		at = have
		given := resp.Header.Get("Content-Range")
		begin, size := fmt.Sprintf("bytes %d-", have), fmt.Sprintf("/%d", d.Size)
		if !strings.HasPrefix(given, begin) || !strings.HasSuffix(given, size) && !strings.HasSuffix(given, "/*") {
			return 0, refusal{fmt.Errorf("expected the range %s%d%s, found %q", begin, d.Size-1, size, given), true}
		}
	default:
		again := code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
		return 0, refusal{fmt.Errorf("status %s", resp.Status), !again}
	}
	if n := resp.ContentLength; d.known() && n >= 0 && at+n != d.Size {
		return 0, refusal{fmt.Errorf("expected %d bytes, found %d announced", d.Size-at, n), true}
	}
	if n := resp.ContentLength; !d.known() && n > d.most() {
		return 0, refusal{fmt.Errorf("expected at most %d bytes, found %d announced", d.most(), n), true}
	}
	return at, nil
}

// most is the number of bytes that may come.
func (d *download) most() int64 {
	if d.known() {
		return d.Size
	}
	return d.limit
}

// save writes body to f from the byte at on. It stops at the size of the file, whatever a
// mirror sends beyond it, or at the end of body where the size is not known.
func (d *download) save(f *os.File, at int64, body io.Reader, alive func()) error {
	if err := f.Truncate(at); err != nil {
		return err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if d.known() {
		body = io.LimitReader(body, d.Size-at)
	}
	buf := make([]byte, 1<<16)
	d.tell(at, d.Size)
	for d.come = at; !d.known() || d.come < d.Size; {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if d.come+int64(n) > d.most() {
				return refusal{fmt.Errorf("expected at most %d bytes, found more", d.most()), true}
			}
			if _, err := f.Write(buf[:n]); err != nil {
				return err
			}
			d.come += int64(n)
			d.tell(d.come, d.Size)
		}
		if !d.known() && errors.Is(err, io.EOF) {
			d.tell(d.come, d.come)
			return nil
		}
		if err != nil && !(d.known() && d.come == d.Size) {
			return refusal{fmt.Errorf("broke off after %s: %w", d.progress(d.come), err), false}
		}
	}
	return nil
}

// progress describes how far a download has come, for messages.
func (d *download) progress(n int64) string {
	if d.known() {
		return fmt.Sprintf("%d of %d bytes", n, d.Size)
	}
	return fmt.Sprintf("%d bytes", n)
}
