// Package method is the table of post-hoc methods. Command-line flags, keys of experiment files, checks of
// settings, model files, reports and help are made from the table. A method is one package: below gp, with
// a row in this package, or anywhere, with a call of [Register].
package method

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/moe"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/gp/sum"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/registry"
	"github.com/go-valla/valla/internal/settings"
)

// table has the methods, the default first.
var table = registry.New[gp.Method]("method")

func init() {
	for _, m := range []gp.Method{
		valla.Method, laplace.Method, laplace.SubsetMethod, ella.Method, sampled.Method, moe.Method,
		fmgp.Method, sfr.Method, gapa.Method, sum.Method, mfvi.Method, sngp.Method,
	} {
		Register(m)
	}
}

// Register adds a method to the end of the table. The init function of a package outside this module calls
// Register, so that a program that imports the package has the method everywhere: in its flags and help, in
// experiment files, model files and reports. Register panics if the name or the type of the settings belongs to
// another method, if the name is not made of lower-case letters and digits, joined by hyphens or +, or if the method lacks its
// Title, its Summary, New or Restore.
func Register(m gp.Method) {
	err := check(m)
	if err == nil {
		err = table.Add(m.Name, m)
	}
	if err != nil {
		panic(fmt.Sprintf("method: %v", err))
	}
}

// check returns an error if a method lacks what the program needs of it.
func check(m gp.Method) error {
	for _, f := range []struct {
		name  string // of a field that every method has
		there bool   // whether the method has it
	}{{"Title", m.Title != ""}, {"Summary", m.Summary != ""}, {"New", m.New != nil}, {"Restore", m.Restore != nil}} {
		if !f.there {
			return fmt.Errorf("the method %q has no %s", m.Name, f.name)
		}
	}
	s := m.New()
	if t := reflect.TypeOf(s); t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("the function New of the method %q returns %T, expected a pointer to a struct of settings", m.Name, s)
	}
	if other, err := Of(s); err == nil {
		return fmt.Errorf("the settings %T of the method %q belong to %q", s, m.Name, other.Name)
	}
	return settings.Check(s)
}

// Default is the name of the method that is fitted where none is named.
const Default = "valla"

// All returns the methods in the order in which they are listed: the methods of this module, then other
// methods in the order of their registration.
func All() []gp.Method { return table.All() }

// Names returns the names of the methods, in the order of [All].
func Names() []string { return table.Names() }

// Lookup returns the method with a name. The error for an unknown name wraps settings.ErrSetting and lists the
// names.
func Lookup(name string) (gp.Method, error) {
	if m, ok := table.Get(name); ok {
		return m, nil
	}
	return gp.Method{}, settings.Errorf("method %q, expected one of %s%s", name, strings.Join(Names(), ", "), settings.Nearest(name, Names()))
}

// Of returns the method to which the settings s belong.
func Of(s gp.Settings) (gp.Method, error) {
	for _, m := range All() {
		if reflect.TypeOf(m.New()) == reflect.TypeOf(s) {
			return m, nil
		}
	}
	return gp.Method{}, fmt.Errorf("settings of type %T belong to no method of the table", s)
}
