package listing

import (
	"encoding/json"
	"strconv"
)

// Numbers are numbers in a form that JSON can hold: null where a number is not finite, such as the standard deviation of a
// distribution that has none.
type Numbers []float64

// MarshalJSON implements json.Marshaler.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if n == nil {
		return json.Marshal([]float64(nil))
	}
	out := append(make([]byte, 0, 20*len(n)+2), '[')
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendNumber(out, v)
	}
	return append(out, ']'), nil
}

// AppendNumber appends a number as JSON to dst, or null if the number is not finite.
func AppendNumber(dst []byte, v float64) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}
