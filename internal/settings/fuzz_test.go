package settings_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/settings"
)

// FuzzSet: no text makes Set panic. A value that Set takes passes Check, and Set takes its
// Text again. A text that Set refuses leaves the settings alone, and the error is one line.
func FuzzSet(f *testing.F) {
	for _, text := range []string{"", "1", "0", "-3", "0.5", "1e400", "NaN", "true", "a,b", ",", " 1 ,2", "kmeans++", "0x1p3", "1_0", "日本", "\xff", "-0"} {
		for i := range settings.Of(new(sample)) {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		s := new(sample)
		fields := settings.Of(s)
		field := fields[int(which)%len(fields)]
		if err := field.Set(text); err != nil {
			if !reflect.DeepEqual(s, new(sample)) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
				t.Errorf("%s %q: %+v after the error %v", field.Name, text, s, err)
			}
			return
		}
		if err := settings.Check(s); err != nil {
			t.Errorf("%s %q was set, but %v", field.Name, text, err)
		}
		if !field.Given() {
			return // the zero value
		}
		again := new(sample)
		if err := settings.Lookup(again, field.Name).Set(field.Text()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%s %q: %+v by the text %q, want %+v (%v)", field.Name, text, again, field.Text(), s, err)
		}
	})
}

// FuzzAssign: no JSON makes Assign panic, and an error leaves the settings alone.
func FuzzAssign(f *testing.F) {
	for _, text := range []string{"1", "-1", "null", `"a"`, "[]", "[1,2]", `["a","b"]`, "{}", "true", "1e999", "[[]]"} {
		for i := range settings.Of(new(sample)) {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		s := &sample{Count: 5}
		names := settings.Names(s)
		err := settings.Assign(s, rawMessage(names[int(which)%len(names)], text))
		switch {
		case err == nil:
			if err := settings.Check(s); err != nil {
				t.Errorf("%q was assigned, but %v", text, err)
			}
		case !errors.Is(err, settings.ErrSetting) || !reflect.DeepEqual(s, &sample{Count: 5}):
			t.Errorf("%q: %+v after the error %v", text, s, err)
		}
	})
}
