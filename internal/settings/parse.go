package settings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// element returns the type of a single value of the setting.
func (f *Field) element() reflect.Type {
	t := f.value.Type()
	if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice {
		return t.Elem()
	}
	return t
}

// parse returns the value that text stands for, in the field's type.
func (f *Field) parse(text string) (reflect.Value, error) {
	switch t := f.value.Type(); t.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		v, err := f.single(text)
		if err == nil {
			p.Elem().Set(v)
		}
		return p, err
	case reflect.Slice:
		return f.several(t, text)
	}
	return f.single(text)
}

// several returns the list that text stands for.
func (f *Field) several(t reflect.Type, text string) (reflect.Value, error) {
	list := reflect.MakeSlice(t, 0, 0)
	if strings.TrimSpace(text) == "" {
		return list, nil
	}
	parts, err := split(text)
	if err != nil {
		return list, err
	}
	for _, part := range parts {
		v, err := f.single(part)
		if err != nil {
			return list, err
		}
		list = reflect.Append(list, v)
	}
	return list, nil
}

// split returns the elements of a list without the spaces around them. An element with commas stands in quotes, as a cell of CSV does.
func split(text string) ([]string, error) {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		if parts[i] = strings.TrimSpace(part); strings.HasPrefix(parts[i], `"`) {
			r := csv.NewReader(strings.NewReader(text))
			r.TrimLeadingSpace, r.LazyQuotes = true, true
			cells, err := r.ReadAll()
			if err != nil || len(cells) != 1 {
				return nil, fmt.Errorf("expected a list with commas, found %q", shorten(text))
			}
			return cells[0], nil
		}
	}
	return parts, nil
}

// quoted returns an element of a list, in quotes if it needs them.
func quoted(part string) string {
	if strings.Contains(part, ",") || strings.HasPrefix(part, `"`) || strings.TrimSpace(part) != part {
		return `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return part
}

// single returns the single value that text stands for.
func (f *Field) single(text string) (reflect.Value, error) {
	v := reflect.New(f.element()).Elem()
	fail := func(expected string) (reflect.Value, error) {
		return v, fmt.Errorf("expected %s, found %q", expected, shorten(text))
	}
	switch v.Kind() {
	case reflect.String:
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, text) {
			return v, fmt.Errorf("expected one of %s, found %q%s", strings.Join(f.Choices, ", "), shorten(text), Nearest(text, f.Choices))
		}
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fail("true or false")
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !f.limits.hold(float64(i)) || i != int64(int(i)) {
			return fail("an integer" + f.limits.String())
		}
		v.SetInt(i)
	case reflect.Uint64:
		i, err := strconv.ParseUint(text, 10, 64)
		if err != nil || !f.limits.hold(float64(i)) {
			return fail("an integer from 0" + f.limits.String())
		}
		v.SetUint(i)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if errors.Is(err, strconv.ErrSyntax) || math.IsInf(x, 0) || math.IsNaN(x) || strings.ContainsAny(text, "_xX") || !f.limits.hold(x) {
			return fail("a number" + f.limits.String())
		}
		v.SetFloat(x)
	default:
		panic(fmt.Sprintf("settings: %s has the type %v, which no text gives", f.Name, f.value.Type()))
	}
	return v, nil
}

// shorten returns text, which it cuts if it is too long for a message.
func shorten(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return text
}

// format returns the text for a value, from which parse gets the value back.
func format(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return format(v.Elem())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = quoted(format(v.Index(i)))
		}
		return strings.Join(parts, ",")
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// limits are the bounds of a number that tags state; NaN stands for no bound.
type limits struct {
	min, max     float64 // bounds that are allowed values
	above, below float64 // bounds that are not
}

// limitsOf returns the limits that the tags of a field state.
func limitsOf(tag reflect.StructTag) limits {
	bound := func(name string) float64 {
		s, ok := tag.Lookup(name)
		if !ok {
			return math.NaN()
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(fmt.Sprintf("settings: tag %s: %v", name, err))
		}
		return v
	}
	return limits{bound("min"), bound("max"), bound("above"), bound("below")}
}

// hold reports whether v is within the limits.
func (l limits) hold(v float64) bool {
	return !(v < l.min) && !(v > l.max) && !(v <= l.above) && !(v >= l.below)
}

// String describes the limits in words that continue "a number", such as
// " above 0, at most 1". The text is empty if there are no limits.
func (l limits) String() string {
	var s []string
	for _, b := range []struct {
		text  string  // words before the number
		bound float64 // the number; NaN for no bound
	}{{"at least", l.min}, {"above", l.above}, {"at most", l.max}, {"below", l.below}} {
		if !math.IsNaN(b.bound) {
			s = append(s, fmt.Sprintf("%s %g", b.text, b.bound))
		}
	}
	if s == nil {
		return ""
	}
	return " " + strings.Join(s, ", ")
}
