package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Map returns the settings of the struct that ptr points to, by name, without the settings that have
// their zero values. The values have the fields' types and can be encoded as JSON.
func Map(ptr any) map[string]any {
	m := map[string]any{}
	for _, f := range Of(ptr) {
		if f.Given() {
			m[f.Name] = f.value.Interface()
		}
	}
	return m
}

// Assign sets settings of the struct that ptr points to. The values in m are the values of Map, encoded
// as JSON. Settings that m does not name keep their values. An unknown name and a value that does not
// fit are errors that wrap ErrSetting. After an error nothing has changed.
func Assign(ptr any, m map[string]json.RawMessage) error {
	fresh := reflect.New(reflect.TypeOf(ptr).Elem())
	fresh.Elem().Set(reflect.ValueOf(ptr).Elem())
	for _, name := range slices.Sorted(maps.Keys(m)) {
		f := Lookup(fresh.Interface(), name)
		if f == nil {
			return Errorf("%s: expected one of %s%s", name, strings.Join(Names(ptr), ", "), Nearest(name, Names(ptr)))
		}
		f.value.SetZero()
		if err := json.Unmarshal(m[name], f.value.Addr().Interface()); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrSetting, name, err)
		}
		if err := f.Check(); err != nil {
			return err
		}
	}
	reflect.ValueOf(ptr).Elem().Set(fresh.Elem())
	return nil
}

// Names returns the names of the settings of the struct that ptr points to.
func Names(ptr any) []string {
	var names []string
	for _, f := range Of(ptr) {
		names = append(names, f.Name)
	}
	return names
}
