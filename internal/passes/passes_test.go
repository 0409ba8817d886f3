package passes

import (
	"fmt"
	"testing"
)

// TestCounter: the rows of a pass come on top of the rows of the passes before.
func TestCounter(t *testing.T) {
	var told []string
	c := Counter{Total: 7, Tell: func(done, total int) { told = append(told, fmt.Sprint(done, "/", total)) }}
	first := c.Pass(4)
	first(3, 4)
	first(4, 4)
	c.Pass(3)(3, 3)
	if got := fmt.Sprint(told); got != "[3/7 4/7 7/7]" {
		t.Errorf("told %s", got)
	}
	(&Counter{Total: 7}).Pass(4)(4, 4) // nobody listens
	(*Counter)(nil).Pass(4)(4, 4)
}
