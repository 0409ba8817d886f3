package valla

import (
	"encoding/json"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/layers"
)

// legacyFormat marks older files, whose networks are perceptrons for tables with one target.
// They can still be loaded, without their history.
const legacyFormat = "valla model 1"

// legacyHeader is the header of such a file.
type legacyHeader struct {
	Format      string             `json:"format"`
	Kind        string             `json:"kind"`
	Dtype       string             `json:"dtype"`
	Network     layers.MLP         `json:"network"`
	Fingerprint string             `json:"weights_fingerprint"`
	Features    []string           `json:"features"`
	Target      string             `json:"target"`
	Classes     []float64          `json:"classes"`
	Inputs      *data.Standardizer `json:"inputs"`
	Targets     *data.Standardizer `json:"targets"`
	MAPNoise    float64            `json:"map_noise_variance"`
	Posterior   *legacyPosterior   `json:"posterior"`
	Training    json.RawMessage    `json:"training"`
}

type legacyPosterior struct {
	Method      string          `json:"method"`
	Fingerprint string          `json:"weights_fingerprint"`
	Noise       float64         `json:"noise_variance"`
	Inducing    int             `json:"inducing"`
	Class       []int           `json:"class"`
	LLA         json.RawMessage `json:"lla"`
}

// readLegacy returns the header of such a file as that of a new one.
func readLegacy(text []byte) (*header, error) {
	var old legacyHeader
	if err := archive.Decode(headerMember, text, &old); err != nil {
		return nil, err
	}
	classes := old.Kind == "classification"
	if old.Inputs == nil || !classes && old.Kind != "regression" || classes != (old.Classes != nil) || classes == (old.Targets != nil) {
		return nil, archive.Errorf(headerMember, "kind %q with %d classes, expected a regression with a scaling of the targets or a classification, and a scaling of the inputs",
			old.Kind, len(old.Classes))
	}
	h := &header{
		Format: fileFormat, Dtype: old.Dtype, Fingerprint: old.Fingerprint,
		Inputs: task.Inputs{Features: old.Features, Shape: []int{len(old.Features)}, Mean: old.Inputs.Mean, Std: old.Inputs.Std},
	}
	var err error
	if h.Form, err = layers.MarshalForm(old.Network); err != nil {
		return nil, archive.Errorf(headerMember, "%w", err)
	}
	if old.Classes != nil {
		h.Classes = &task.Classification{Name: old.Target, Classes: old.Classes}
	} else {
		h.Regression = &task.Regression{Names: []string{old.Target}, Mean: old.Targets.Mean, Std: old.Targets.Std, NoiseVariance: old.MAPNoise}
	}
	if p := old.Posterior; p != nil {
		h.Posterior = &posteriorHeader{Method: p.Method, Fingerprint: p.Fingerprint, NoiseVariance: p.Noise, State: p.LLA}
		if p.LLA == nil {
			h.Posterior.State, err = json.Marshal(map[string]any{"inducing": p.Inducing, "class": p.Class})
		}
	}
	return h, err
}
