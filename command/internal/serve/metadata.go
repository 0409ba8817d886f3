package serve

import "strings"

// modelMetadata describes a model in the inference protocol.
type modelMetadata struct {
	Name       string            `json:"name"`       // name of the model
	Versions   []string          `json:"versions"`   // the version that answers
	Platform   string            `json:"platform"`   // always "valla"
	Inputs     []metadataTensor  `json:"inputs"`     // accepted inputs
	Outputs    []metadataTensor  `json:"outputs"`    // available outputs
	Properties map[string]string `json:"properties"` // method, network, task and targets
}

// metadata returns the description of the model.
func (v *version) metadata() modelMetadata {
	inputs := []metadataTensor{{"x", "FP64", append([]int{-1}, v.model.Task.Inputs.Shape...)}}
	if v.columns() != nil {
		inputs = nil
		for _, f := range v.fields() {
			datatype := "FP64"
			if f.Text {
				datatype = "BYTES"
			}
			inputs = append(inputs, metadataTensor{f.Name, datatype, []int{-1}})
		}
	}
	var outputs []metadataTensor
	for _, o := range v.offered() {
		datatype := "FP64"
		if o.strings {
			datatype = "BYTES"
		}
		outputs = append(outputs, metadataTensor{o.name, datatype, append([]int{-1}, o.row(v)...)})
	}
	return modelMetadata{
		Name: v.name, Versions: []string{v.hash}, Platform: "valla", Inputs: inputs, Outputs: outputs,
		Properties: map[string]string{
			"method": v.model.String(), "network": v.model.Form.String(), "task": v.model.Task.Kind(),
			"targets": strings.Join(v.model.Task.Targets(), ","),
		},
	}
}
