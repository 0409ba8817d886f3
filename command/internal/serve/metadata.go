package serve

import (
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/serve/oip"
)

// The messages of gRPC also serve as JSON: the protocol has the same names in both forms.

// serverMetadata describes the server in the inference protocol.
func serverMetadata() *oip.ServerMetadataResponse {
	return &oip.ServerMetadataResponse{Name: "valla", Version: valla.Version(), Extensions: []string{"binary_tensor_data"}}
}

// metadata describes the model in the inference protocol: its version, its inputs and its outputs.
func (v *version) metadata() *oip.ModelMetadataResponse {
	var inputs, outputs []*oip.ModelMetadataResponse_TensorMetadata
	if v.columns() == nil {
		x := tensorMetadata("x", false, v.model.Task.Inputs.Shape)
		if v.model.Task.Inputs.Bytes {
			x.Datatype = "UINT8"
		}
		inputs = append(inputs, x)
	}
	for _, f := range v.fields() {
		inputs = append(inputs, tensorMetadata(f.Name, f.Text, nil))
	}
	for _, o := range v.offered() {
		outputs = append(outputs, tensorMetadata(o.name, o.strings, o.row(v)))
	}
	return &oip.ModelMetadataResponse{
		Name: v.name, Versions: []string{v.hash}, Platform: "valla", Inputs: inputs, Outputs: outputs,
		Properties: map[string]string{
			"method": v.model.String(), "network": v.model.Form.String(), "task": v.model.Task.Kind(),
			"output": v.kind(), "targets": strings.Join(v.model.Task.Predicted(), ","),
		},
	}
}

// kind returns what targets are: number, count, binary, ordered or class.
func (v *version) kind() string { return string(v.model.Task.Likelihood().Kind()) }

// tensorMetadata describes an input or output of any number of rows, each of the given shape.
func tensorMetadata(name string, text bool, row []int) *oip.ModelMetadataResponse_TensorMetadata {
	return &oip.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: datatypeOf(text), Shape: append([]int64{-1}, converted[int64](row)...)}
}

// datatypeOf returns the datatype of the tensors that the server sends, and of the columns that it takes.
func datatypeOf(text bool) string {
	if text {
		return "BYTES"
	}
	return "FP64"
}
