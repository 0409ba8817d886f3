package serve

import (
	"fmt"
	"strconv"
	"strings"
)

// mostLevels is the largest number of quantiles, or of thresholds, of an output.
const mostLevels = 100

// probability and finite are what the numbers of a parameter may be.
const (
	probability = "a probability between 0 and 1"
	finite      = "a finite number"
)

// numbersIn returns the numbers in the parameter with the given name: a number, a list, or a text with commas, because
// gRPC has no lists among parameters. Each number has to be what expected says. If the parameter is absent, numbersIn
// returns def.
func numbersIn(parameters map[string]any, name, expected string, def ...float64) ([]float64, error) {
	var given []any
	switch v := parameters[name].(type) {
	case nil:
		return def, nil
	case []any:
		given = v
	case string:
		for word := range strings.SplitSeq(v, ",") {
			given = append(given, word)
		}
	default:
		given = []any{v}
	}
	if len(given) == 0 || len(given) > mostLevels {
		return nil, fmt.Errorf("%s: %d numbers, expected 1 to %d", name, len(given), mostLevels)
	}
	out := make([]float64, len(given))
	for i, v := range given {
		number, ok := v.(float64)
		if word, text := v.(string); text {
			parsed, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			number, ok = parsed, err == nil
		}
		ok = ok && number-number == 0 && (expected != probability || number > 0 && number < 1)
		if out[i] = number; !ok {
			return nil, fmt.Errorf("%s %q, expected %s", name, short(fmt.Sprint(v)), expected)
		}
	}
	return out, nil
}
