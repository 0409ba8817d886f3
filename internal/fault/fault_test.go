package fault

import (
	"errors"
	"io"
	"testing"
)

// TestIn: the place stands before the error, which stays known, and no error stays none.
func TestIn(t *testing.T) {
	if err := In("here", io.EOF); !errors.Is(err, io.EOF) || err.Error() != "here: EOF" {
		t.Errorf("error %v", err)
	}
	if err := In("here", nil); err != nil {
		t.Errorf("error %v", err)
	}
}
