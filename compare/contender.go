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

// deepEnsemble is the name of the ensemble of ensembleSize networks that are trained like the network, without a posterior.
const deepEnsemble, ensembleSize = "deep-ensemble", 5

// fitted is the rank of posteriors. Calibrations have lower ranks.
const fitted = 9

// contender is the network alone, a calibration of it, or a method.
type contender struct {
	name        string        // see Names
	label       string        // name in a table of scores
	given       string        // see Result.Settings
	calibration string        // method of Calibrate; "" means none
	settings    gp.Settings   // settings of the method; nil for the network alone, its calibrations and the deep ensemble
	networks    int           // number of networks of the deep ensemble; 0 for the others
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

// Names lists the contenders of [Run]: the network alone (map), its calibrations, a deep ensemble, the methods of
// [method.All] with their defaults, and two more forms of LLA.
func Names() []string {
	names := append(append([]string{networkAlone}, calibrations...), deepEnsemble)
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
	if name == deepEnsemble {
		c.label, c.given, c.networks = fmt.Sprintf("deep ensemble of %d", ensembleSize), fmt.Sprintf("networks=%d", ensembleSize), ensembleSize
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
	names := c.o.Methods
	if names == nil {
		names = slices.DeleteFunc(Names(), func(n string) bool {
			return n == valla.CalibrateVector && !c.classes() || n == valla.CalibrateLaw && c.m.NoiseStds() == nil
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
