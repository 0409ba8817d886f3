package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// refusal is an error with a status of HTTP.
type refusal struct {
	status int    // status of HTTP
	text   string // message for the client
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// errDraining refuses requests while the server shuts down.
var errDraining = &refusal{http.StatusServiceUnavailable, "the server is shutting down"}

// errFull refuses requests for which the queue has no room.
var errFull = &refusal{http.StatusTooManyRequests, "the queue is full"}

// tooMany refuses n rows.
func tooMany(n, most int) error {
	return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%d rows, expected at most %d in a request", n, most)}
}

// statusClosed is the status of a request whose client is gone.
const statusClosed = 499

// statusOf returns the status and the message for an error. An error without a status of its own is
// the client's: 400.
func statusOf(err error) (status int, message string) {
	var large *http.MaxBytesError
	var known *refusal
	switch {
	case err == nil:
		return http.StatusOK, ""
	case errors.As(err, &known):
		return known.status, known.text
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", large.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, "the request took too long"
	case errors.Is(err, context.Canceled):
		return statusClosed, err.Error()
	}
	return http.StatusBadRequest, err.Error()
}

// refuse answers with the status and the message of an error.
func refuse(w http.ResponseWriter, err error) {
	status, message := statusOf(err)
	if errors.Is(err, errToken) && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	fail(w, status, message)
}

// because returns an error with a text and its cause, which may be nil.
func because(cause error, text string) error {
	if cause == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, cause)
}
