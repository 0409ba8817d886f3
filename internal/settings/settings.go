// Package settings makes settings out of the fields of a struct. The tags of a field give the
// name of the setting on the command line and in files, its default, its limits and a phrase of
// help, so that each setting is declared once.
//
//	type Settings struct {
//		Inducing int      `set:"inducing" default:"100" min:"1" help:"number of inducing points"`
//		Alpha    *float64 `set:"alpha" default:"1" min:"0" max:"1" help:"α of the objective"`
//		Init     string   `set:"init" choice:"kmeans++ random-points" help:"start of k-means"`
//	}
//
// The zero value of a field means its default. If zero has a meaning of its own, as for α
// above, the field is a pointer, and nil means the default. If the default depends on other
// things, the tag auto describes the default, and the code that uses the setting computes it.
// The default of a choice is its first name, unless the tag default gives another name.
//
// A field may be an int, a uint64, a float64, a bool, a string, a pointer to one of these, or
// a slice of int, float64 or string. Fields without the tag set are no settings. Fields of
// embedded structs count as fields of the struct.
package settings

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrSetting is wrapped by errors about a setting that has an impossible value.
var ErrSetting = errors.New("bad setting")

// Field is one setting of a struct.
type Field struct {
	Name    string   // name on the command line and in files
	Help    string   // phrase that describes the setting
	Default string   // default as text; "" where the zero value is the default
	Auto    string   // description of a computed default; "" if the default is not computed
	Choices []string // names that the setting may have; nil if it is no choice

	value  reflect.Value // field of the struct
	limits limits        // bounds from the tags
}

// Of returns the settings of the struct that ptr points to, in the order of its fields. It
// panics if ptr is no pointer to a struct, or if a tag makes no sense, because both are
// errors of the program.
func Of(ptr any) []*Field {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("settings: %T is no pointer to a struct", ptr))
	}
	var fields []*Field
	for _, f := range reflect.VisibleFields(v.Elem().Type()) {
		if name, ok := f.Tag.Lookup("set"); ok {
			fields = append(fields, newField(name, f, v.Elem().FieldByIndex(f.Index)))
		}
	}
	return fields
}

// newField returns the setting of the field f with the value v.
func newField(name string, f reflect.StructField, v reflect.Value) *Field {
	out := &Field{
		Name: name, Help: f.Tag.Get("help"), Default: f.Tag.Get("default"), Auto: f.Tag.Get("auto"),
		Choices: strings.Fields(f.Tag.Get("choice")), value: v, limits: limitsOf(f.Tag),
	}
	if out.Default == "" && out.Auto == "" && len(out.Choices) > 0 && f.Type.Kind() == reflect.String {
		out.Default = out.Choices[0]
	}
	if out.Default != "" {
		if _, err := out.parse(out.Default); err != nil {
			panic(fmt.Sprintf("settings: default of %s: %v", name, err))
		}
	}
	return out
}

// Lookup returns the setting with the given name, or nil if there is none.
func Lookup(ptr any, name string) *Field {
	for _, f := range Of(ptr) {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Given reports whether the setting has another value than the zero value.
func (f *Field) Given() bool { return !f.value.IsZero() }

// Limits describes the numbers that the setting takes, such as "at least 1, below 2". The description
// is empty if the setting has no bounds.
func (f *Field) Limits() string { return strings.TrimPrefix(f.limits.String(), " ") }

// IsBool reports whether the setting is true or false.
func (f *Field) IsBool() bool { return f.element().Kind() == reflect.Bool }

// IsList reports whether the setting takes several values.
func (f *Field) IsList() bool { return f.value.Kind() == reflect.Slice }

// Reset gives the setting its zero value, which means the default.
func (f *Field) Reset() { f.value.SetZero() }

// Set gives the setting the value that text stands for. Commas separate the values of a list. The
// error says what was expected and what was found. After an error nothing has changed.
func (f *Field) Set(text string) error {
	v, err := f.parse(text)
	if err != nil {
		return err
	}
	f.value.Set(v)
	return nil
}

// Try returns the error that Set would return for one value, or for one element of a list. It changes
// nothing.
func (f *Field) Try(text string) error {
	_, err := f.single(text)
	return err
}

// Text returns the setting's value as Set takes it, and "" for the zero value.
func (f *Field) Text() string {
	if !f.Given() {
		return ""
	}
	return format(f.value)
}

// Check returns an error that wraps ErrSetting if the value is outside the limits. The zero
// value stands for the default and is always allowed.
func (f *Field) Check() error {
	if !f.Given() {
		return nil
	}
	if _, err := f.parse(f.Text()); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSetting, f.Name, err)
	}
	return nil
}

// Kind returns the word for the setting's value in a line of help: INT, NUMBER, NAME or
// TEXT. A list has an s after it. A setting that is true or false has the word "".
func (f *Field) Kind() string {
	kind := map[reflect.Kind]string{
		reflect.Int: "INT", reflect.Uint64: "INT", reflect.Float64: "NUMBER", reflect.String: "TEXT",
	}[f.element().Kind()]
	if len(f.Choices) > 0 {
		kind = "NAME"
	}
	if kind != "" && f.IsList() {
		kind += "s"
	}
	return kind
}

// Check checks all settings of the struct that ptr points to.
func Check(ptr any) error {
	for _, f := range Of(ptr) {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Complete checks the settings of the struct that ptr points to. It then gives each setting
// that has its zero value the default, except where the default is computed.
func Complete(ptr any) error {
	if err := Check(ptr); err != nil {
		return err
	}
	for _, f := range Of(ptr) {
		if f.Given() || f.Default == "" {
			continue
		}
		if err := f.Set(f.Default); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrSetting, f.Name, err)
		}
	}
	return nil
}

// Errorf returns an error that wraps ErrSetting.
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSetting, fmt.Errorf(format, args...))
}
