// Package method is the table of post-hoc methods. Command-line flags, keys of experiment
// files, checks of settings, model files and documentation are made from it. A method is one
// package below gp and one row of this table.
package method

import (
	"fmt"
	"reflect"
	"slices"
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
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/testmethod"
)

// table has the methods, the default first.
var table = []gp.Method{
	valla.Method,
	laplace.Method,
	laplace.SubsetMethod,
	ella.Method,
	sampled.Method,
	moe.Method,
	fmgp.Method,
	sfr.Method,
	gapa.Method,
	sum.Method,
	mfvi.Method,
	sngp.Method,
}

// Default is the name of the method that is fitted where none is named.
const Default = "valla"

// All returns the methods in the order in which they are listed.
func All() []gp.Method { return append(slices.Clone(table), testmethod.Rows()...) }

// Names returns the names of the methods, in the order of [All].
func Names() []string {
	var names []string
	for _, m := range All() {
		names = append(names, m.Name)
	}
	return names
}

// Lookup returns the method with a name. The error for an unknown name wraps
// settings.ErrSetting and lists the names.
func Lookup(name string) (gp.Method, error) {
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
	}
	return gp.Method{}, settings.Errorf("method %q, expected one of %s", name, strings.Join(Names(), ", "))
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
