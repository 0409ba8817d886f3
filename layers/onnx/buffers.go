package onnx

import (
	"slices"
	"strings"
)

// A file does not tell trained arrays from buffers, as PyTorch calls arrays that are stored and not trained. The
// statistics of batch normalisation are told by their place, others by their names or by their use: an array that is
// subtracted from the inputs, or that divides them, standardises them.

// statistics are the last parts of the names by which PyTorch and Keras call statistics of data, and the vectors of the power iterations
// of spectral norms.
var statistics = []string{"running_mean", "running_var", "moving_mean", "moving_variance", "num_batches_tracked", "_u", "_v", "weight_u", "weight_v"}

// isStatistic reports whether an array has the name of a statistic.
func isStatistic(name string) bool {
	last := strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("./:", c) })
	return len(last) > 0 && slices.Contains(statistics, last[len(last)-1])
}

// buffers returns the arrays that are statistics or standardise the inputs.
func (r *reader) buffers() map[string]bool {
	found := map[string]bool{}
	for _, name := range r.order {
		found[name] = isStatistic(name)
	}
	shifted := map[string]bool{r.Input: false} // what elementwise nodes have made of the inputs; true after a difference
	widest := product(r.input)                 // elements of an example of the largest input
	for _, i := range r.Inputs {
		shifted[i.Name], widest = false, max(widest, i.Size())
	}
	for _, n := range r.Nodes {
		var before, ok bool
		if len(n.Inputs) > 0 && len(n.Outputs) > 0 {
			before, ok = shifted[n.Inputs[0]]
		}
		with := ""
		if len(n.Inputs) == 2 && r.weights[n.Inputs[1]] != nil {
			with = n.Inputs[1]
		}
		switch {
		case !ok:
		case with != "" && product(r.weights[with].Shape) > widest: // prototypes, with which the inputs are compared
		case with != "" && (n.Op == "Sub" || n.Op == "Div" || n.Op == "Mul" && before):
			found[with], shifted[n.Outputs[0]] = true, true
		case with == "" && slices.Contains(append(slices.Clone(reshapes), "Transpose"), n.Op):
			shifted[n.Outputs[0]] = before
		}
	}
	return found
}
