package serve

import "strings"

// modelMetadata is what the protocol says of a model.
type modelMetadata struct {
	Name       string            `json:"name"`
	Versions   []string          `json:"versions"`
	Platform   string            `json:"platform"`
	Inputs     []metadataTensor  `json:"inputs"`
	Outputs    []metadataTensor  `json:"outputs"`
	Properties map[string]string `json:"properties"`
}

// metadata describes the model.
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
			"method": v.model.String(), "network": v.model.Form.String(), "task": v.model.Task.Outputs.Kind(),
			"targets": strings.Join(v.model.Task.Outputs.Targets(), ","),
		},
	}
}
