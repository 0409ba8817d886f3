// Package passes reports several passes over rows as one piece of work.
package passes

// Counter adds up the rows of several passes, one after the other.
type Counter struct {
	Total int                   // rows of all passes
	Tell  func(done, total int) // is called with the rows of all passes; nil: nobody listens

	begun int // rows of the passes that have begun
}

// Pass returns the function that is told how many of the n rows of the next pass are done. Nobody
// listens to a nil Counter.
func (c *Counter) Pass(n int) func(done, total int) {
	if c == nil || c.Tell == nil {
		return func(int, int) {}
	}
	before := c.begun
	c.begun += n
	return func(done, _ int) { c.Tell(before+done, c.Total) }
}
