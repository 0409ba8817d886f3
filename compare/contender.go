package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// networkAlone is the name of the network alone, which every comparison has.
const networkAlone = "map"

// calibrations are the names of the calibrations of the network alone, the simplest first.
var calibrations = []string{valla.CalibrateTemperature, valla.CalibrateVector, valla.CalibrateLaw, valla.CalibrateConformal}

// fitted is the rank of posteriors. Calibrations have lower ranks.
const fitted = 9

// contender is the network alone, a calibration of it, a rival that is trained again, or a method.
type contender struct {
	name        string        // see Names
	label       string        // name in a table of scores
	given       string        // see Result.Settings
	calibration string        // method of Calibrate; "" means none
	settings    gp.Settings   // settings of the method; nil for the network alone, its calibrations and rivals that are trained again
	again       *again        // rival that is trained again; nil for the others
	trainings   int           // how many times as long as the training of the network it takes; 0 where nothing is trained
	simpler     int           // see Result.simpler
	seconds     float64       // estimate of one fit; 0 where there is none
	share       time.Duration // share of the budget that was too little; 0 before the first try
}

// forms are settings of methods that are contenders beside the methods' defaults.
var forms = []struct {
	name    string // name of the contender
	method  string // name of the method
	setting string // setting that differs from its default
	value   string // value of the setting
}{
	{"lla-kfac", "lla", "structure", "kfac"},
	{"lla-last-layer", "lla", "weights", "last-layer"},
}

// Names lists the contenders of [Run]: the network alone (map), its calibrations, rivals without a posterior that are trained
// again (a deep ensemble, a network that tells the noise of each row, a network of quantiles), the methods of [method.All] with
// their defaults, and two more forms of LLA.
func Names() []string {
	names := append([]string{networkAlone}, calibrations...)
	for _, r := range retrained {
		names = append(names, r.name)
	}
	names = append(names, quantileNetwork)
	for _, how := range method.All() {
		names = append(names, how.Name)
		for _, f := range forms {
			if f.method == how.Name {
				names = append(names, f.name)
			}
		}
	}
	return names
}

// newContender returns the contender with a name.
func newContender(name string) (contender, error) {
	c := contender{name: name, simpler: fitted}
	if name == networkAlone {
		c.label, c.simpler = "MAP", 0
		return c, nil
	}
	if rank := slices.Index(calibrations, name); rank >= 0 {
		c.label, c.given, c.calibration, c.simpler = "MAP, "+name, "method="+name, name, 1+rank
		return c, nil
	}
	if i := slices.IndexFunc(retrained, func(r again) bool { return r.name == name }); i >= 0 {
		r := &retrained[i]
		c.label, c.given, c.again, c.trainings = r.label, r.given, r, r.trainings
		return c, nil
	}
	if name == quantileNetwork {
		c.label, c.trainings = "quantile network", 1
		return c, nil
	}
	of, setting, value := name, "", ""
	for _, f := range forms {
		if f.name == name {
			of, setting, value = f.method, f.setting, f.value
		}
	}
	how, err := method.Lookup(of)
	if err != nil {
		return c, settings.Errorf("contender %q, expected one of %s%s", name, strings.Join(Names(), ", "), settings.Nearest(name, Names()))
	}
	c.settings, c.given = how.New(), "method="+of
	if setting != "" {
		c.given += fmt.Sprintf(" %s=%s", setting, value)
		if err := settings.Lookup(c.settings, setting).Set(value); err != nil {
			return c, err
		}
	}
	c.label = c.settings.Label()
	return c, nil
}

// contenders returns the network alone, and the contenders of the options that suit the outputs.
func (c *contest) contenders() ([]contender, error) {
	names, of := c.o.Methods, c.m.Task
	if names == nil {
		names = slices.DeleteFunc(Names(), func(n string) bool {
			return n == valla.CalibrateVector && !of.Classifies() || n == valla.CalibrateLaw && !of.Gaussian() ||
				(n == meanVariance || n == quantileNetwork) && of.Classifies()
		})
	}
	names = append([]string{networkAlone}, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == networkAlone })...)
	var out []contender
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, settings.Errorf("contender %q stands twice, expected different ones", name)
		}
		one, err := newContender(name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
