package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// likelihoodDoc is the documentation of an observation model, which likelihood list and likelihood show print as JSON.
type likelihoodDoc struct {
	Name     string       `json:"name"`             // name on the command line
	Title    string       `json:"title"`            // full name
	Summary  string       `json:"summary"`          // how targets scatter
	Formula  string       `json:"formula"`          // log density
	Targets  string       `json:"targets"`          // what a target is
	Use      string       `json:"use"`              // cases for which the model is good
	Source   string       `json:"source,omitempty"` // publication
	Settings []settingDoc `json:"settings"`         // settings with their defaults
}

// newLikelihoodDoc returns the documentation of m.
func newLikelihoodDoc(m likelihood.Model) described {
	doc := likelihoodDoc{m.Name, m.Title, m.Summary, m.Formula, m.Targets, m.Use, m.Source, settingDocs(m.New())}
	return described{m.Name, m.Summary, doc, doc.String()}
}

// String returns the documentation of a model for people.
func (d likelihoodDoc) String() string {
	text := fmt.Sprintf("%s: %s\n\n%s\n\nDensity     %s\nTargets     %s\nUse         %s\n",
		d.Name, d.Title, wrap(d.Summary, 0), d.Formula, wrap(d.Targets, 12), wrap(d.Use, 12))
	if d.Source != "" {
		text += "Source      " + wrap(d.Source, 12) + "\n"
	}
	if len(d.Settings) > 0 {
		text += "\n" + settingTable("--"+likelihoodPrefix, d.Settings) + "\n"
	}
	return text
}

func newLikelihood() *cobra.Command {
	return describing("likelihood", "List and describe the observation models of targets", "List the observation models", "Describe an observation model and its settings",
		"the name of one observation model", likelihood.Models, likelihood.Lookup, newLikelihoodDoc)
}

// likelihoodPrefix begins the names of the flags for the settings of an observation model.
const likelihoodPrefix = "likelihood-"

// observing are the flag --likelihood and the flags for the settings of the observation model that it names.
type observing struct {
	likelihood string              // value of --likelihood; "" without the flag
	name       string              // name of the observation model whose flags the command has
	settings   likelihood.Settings // its settings; nil where there is no such model
}

// flags adds the flags to a command with these arguments.
func (o *observing) flags(cmd *cobra.Command, args []string, usage string) {
	f := cmd.Flags()
	f.StringVar(&o.likelihood, "likelihood", "", usage)
	o.name = chosenIn(args, "--likelihood", "")
	if m, err := likelihood.Lookup(o.name); err == nil {
		o.settings = m.New()
		namedFlags(f, likelihoodPrefix, o.settings, o.name+": ", nil)
	}
}

// model returns the observation model that --likelihood names; nil without the flag.
func (o *observing) model() (likelihood.Settings, error) {
	if o.likelihood == "" || o.likelihood == o.name && o.settings != nil {
		return o.settings, nil
	}
	if _, err := likelihood.Lookup(o.likelihood); err != nil {
		return nil, err
	}
	return nil, settings.Errorf("--likelihood %s beside %s, expected one observation model", o.likelihood, o.name)
}

// chosenIn returns the last value of a flag in the arguments, and def if they do not have the flag.
func chosenIn(args []string, flag, def string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			def = v
		} else if a == flag && i+1 < len(args) {
			def = args[i+1]
		}
	}
	return def
}
