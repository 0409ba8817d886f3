package internal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-valla/valla/layers/onnx"
)

// TestOperatorsOfONNX: the list of operators on the page of the gallery is what the reader of ONNX says.
func TestOperatorsOfONNX(t *testing.T) {
	checkPart(t, "../docs/gallery.md", "operators", operatorsTable())
}

// operatorsTable has a line for each kind of support and each reason.
func operatorsTable() string {
	var order []string
	names := map[string][]string{}
	for _, s := range []onnx.Support{onnx.Whole, onnx.Frozen, onnx.Refused} {
		for _, o := range onnx.Supported() {
			if line := fmt.Sprintf("| %s | %s |", s, o.Reason); o.Support == s {
				if names[line] == nil {
					order = append(order, line)
				}
				names[line] = append(names[line], o.Name)
			}
		}
	}
	text := "\n| support | reason | operators |\n|---|---|---|\n"
	for _, line := range order {
		text += line + " " + strings.Join(names[line], ", ") + " |\n"
	}
	return text + "\n"
}
