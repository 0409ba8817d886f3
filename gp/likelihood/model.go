package likelihood

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/registry"
	"github.com/go-valla/valla/internal/settings"
)

// Model is an observation model as a row of the table of models describes it.
type Model struct {
	Name    string // the name on the command line and in files, the String of its likelihoods
	Title   string // the name in text
	Summary string // a sentence
	Formula string // log p(y | f)
	Targets string // what a target is, a phrase
	Use     string // when to choose the model, a sentence
	Source  string // a publication, or ""

	New func() Settings // returns settings with zero values
}

// Settings are the settings of a model: a pointer to a struct whose fields have the tags of the settings of
// a method, see gp.Settings. The zero value of a field means its default.
type Settings interface {
	// Start returns the likelihood of c outputs before its parameters are learned. y [N·W·C] are
	// training targets in the units of the network, for starting values; nil where there are none.
	Start(c int, y []float64) (Likelihood, error)
}

// models has the models, the default of regressions first.
var models = registry.New[Model]("observation model")

// Register adds a model to the end of the table. The init function of a package outside this module calls
// Register, so that a program that imports the package has the model everywhere. Register panics if the name
// is taken or malformed, or if the model lacks its Title, its Summary or New.
func Register(m Model) {
	err := models.Add(m.Name, m)
	if err == nil && (m.Title == "" || m.Summary == "" || m.New == nil) {
		err = fmt.Errorf("the model %q lacks its Title, its Summary or New", m.Name)
	}
	if err != nil {
		panic(fmt.Sprintf("likelihood: %v", err))
	}
}

// Models returns the models in the order in which they are listed.
func Models() []Model { return models.All() }

// Names returns the names of the models, in the order of [Models].
func Names() []string { return models.Names() }

// Lookup returns the model with a name. The error for an unknown name wraps settings.ErrSetting and lists the
// names.
func Lookup(name string) (Model, error) {
	if m, ok := models.Get(name); ok {
		return m, nil
	}
	return Model{}, settings.Errorf("likelihood %q, expected one of %s%s", name, strings.Join(Names(), ", "), settings.Nearest(name, Names()))
}

// Spec is an observation model as a file holds it.
type Spec struct {
	Name     string                     `json:"name"`               // of the model
	Settings map[string]json.RawMessage `json:"settings,omitempty"` // settings that are not zero
	Params   map[string][]float64       `json:"params,omitempty"`   // θ by the names of the parameters

	once sync.Once  // guards the fields below
	one  Likelihood // of one output, in float64
	err  error      // why there is none
}

// NewSpec returns the spec of a likelihood that was started with settings s.
func NewSpec(l Likelihood, s Settings) (*Spec, error) {
	out := &Spec{Name: l.String(), Settings: map[string]json.RawMessage{}}
	for name, v := range settings.Map(s) {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out.Settings[name] = text
	}
	return out.With(l), nil
}

// With returns a spec with the parameters of l, a likelihood of the same model.
func (s *Spec) With(l Likelihood) *Spec {
	out := &Spec{Name: s.Name, Settings: s.Settings, Params: map[string][]float64{}}
	for _, p := range l.Params() {
		out.Params[p.Name] = graph.Floats(p.Value)
	}
	return out
}

// Likelihood returns the likelihood, in float64. Parameters that are missing, unknown, of another length or not
// finite are errors. All calls return the same likelihood, which is not to be changed.
func (s *Spec) Likelihood() (Likelihood, error) {
	s.once.Do(func() { s.one, s.err = s.build() })
	return s.one, s.err
}

// build makes the likelihood.
func (s *Spec) build() (Likelihood, error) {
	m, err := Lookup(s.Name)
	if err != nil {
		return nil, err
	}
	of := m.New()
	if err := settings.Assign(of, s.Settings); err != nil {
		return nil, fmt.Errorf("likelihood %s: %w", s.Name, err)
	}
	l, err := of.Start(1, nil)
	if err != nil {
		return nil, fmt.Errorf("likelihood %s: %w", s.Name, err)
	}
	params := l.Params()
	if len(params) != len(s.Params) {
		return nil, fmt.Errorf("likelihood %s: %d parameters, expected %d", s.Name, len(s.Params), len(params))
	}
	for _, p := range params {
		v, ok := s.Params[p.Name]
		if err := checkFinite(v); !ok || len(v) != p.Value.Shape().TotalSize() || err != nil {
			return nil, fmt.Errorf("likelihood %s: parameter %q is %v, expected %d finite numbers", s.Name, p.Name, v, p.Value.Shape().TotalSize())
		}
		for i, x := range v {
			p.Set(i, x)
		}
	}
	return l, nil
}
