package serve

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
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
			return nil, fmt.Errorf("%s %q, expected %s", name, told(v), expected)
		}
	}
	return out, nil
}

// checkNames returns an error about the first name of something of a kind that is not among the known ones, because such a
// name is a slip that would change nothing.
func checkNames(kind string, given []string, known ...string) error {
	for _, name := range given {
		if slices.Contains(known, name) {
			continue
		}
		expected := "one of " + tablefile.Listed(known)
		if len(known) == 1 {
			expected = strconv.Quote(known[0])
		}
		return fmt.Errorf("%s %q, expected %s%s", kind, short(name), expected, settings.Nearest(name, known))
	}
	return nil
}

// checkQuery returns an error about a parameter of an address that is not among the known ones, or that is there twice.
func checkQuery(query url.Values, known ...string) error {
	given := slices.Sorted(maps.Keys(query))
	if len(known) == 0 && len(given) > 0 {
		return fmt.Errorf("parameter %q, expected no parameters in this address", short(given[0]))
	}
	if err := checkNames("parameter", given, known...); err != nil {
		return err
	}
	for _, name := range given {
		if n := len(query[name]); n > 1 {
			return fmt.Errorf("parameter %q has %d values, expected one", name, n)
		}
	}
	return nil
}

// contentType is a parameter by which clients of MLServer say how they have encoded their data. It changes nothing here.
const contentType = "content_type"

// requestParameters are the parameters of a request of the inference protocol: its own, and those of its outputs.
var requestParameters = []string{"link", "seed", "samples", "levels", "thresholds", "level", "binary_data_output", contentType}

// checkParameters returns an error about a parameter that a request does not have.
func (r *inferRequest) checkParameters() error {
	return checkNames("parameter", slices.Sorted(maps.Keys(r.Parameters)), requestParameters...)
}

// checkParameters returns an error about a parameter that the output does not have.
func (o output) checkParameters(asked requestOutput) error {
	known := slices.Concat(o.parameters, []string{"binary_data", contentType})
	if err := checkNames("parameter", slices.Sorted(maps.Keys(asked.Parameters)), known...); err != nil {
		return fmt.Errorf("output %q: %w", o.name, err)
	}
	return nil
}
