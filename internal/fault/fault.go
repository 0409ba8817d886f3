// Package fault says where an error comes from.
package fault

import "fmt"

// In returns err, if there is one, with the name of a place before it.
func In(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}
