package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/train"
)

// printJSON writes v as one document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// report is what train and fit print.
type report struct {
	Model    string    `json:"model"` // the file written
	Network  string    `json:"network"`
	Dtype    string    `json:"dtype"`
	Features []string  `json:"features"`
	Target   string    `json:"target"`
	NoiseStd float64   `json:"noise_std"` // in the units of the target
	Run      model.Run `json:"run"`
}

// save writes the model that a run made and reports it. m is nil where the run failed;
// where it was interrupted, the error says what is in the file.
func save(cmd *cobra.Command, m *model.Model, path string, asJSON bool, runErr error) error {
	if m == nil {
		return runErr
	}
	if err := m.Save(path); err != nil {
		return errors.Join(runErr, err)
	}
	r := newReport(m, path)
	var err error
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), r)
	} else {
		err = r.print(cmd.OutOrStdout())
	}
	if runErr != nil {
		return interruption(fmt.Sprintf("interrupted after %d iterations; %s holds the best state so far", r.Run.Iterations, path))
	}
	return err
}

func newReport(m *model.Model, path string) report {
	return report{
		Model: path, Network: describe(m), Dtype: m.Dtype().String(), Features: m.Features, Target: m.Target,
		NoiseStd: math.Sqrt(m.Noise) * m.Targets.Std[0], Run: m.Training[len(m.Training)-1],
	}
}

// describe returns the widths and the activation of a network, "1-50-50-1 tanh".
func describe(m *model.Model) string {
	n := m.Network
	widths := []string{strconv.Itoa(n.Inputs)}
	for _, w := range append(append([]int(nil), n.Hidden...), n.Outputs) {
		widths = append(widths, strconv.Itoa(w))
	}
	text := strings.Join(widths, "-")
	if len(n.Hidden) > 0 {
		text += " " + string(n.Activation)
	}
	return text
}

func (r report) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "network     %s, %s\n", r.Network, r.Dtype)
	fmt.Fprintf(&b, "rows        %d to train, %d to validate\n", r.Run.Rows, r.Run.Validation)
	if r.Run.Method == model.MethodVaLLA {
		fmt.Fprintf(&b, "posterior   %d inducing points, prior std %.4g\n", r.Run.Inducing, r.Run.PriorStd)
	}
	fmt.Fprintf(&b, "iterations  %d in %.1f s", r.Run.Iterations, r.Run.Seconds)
	switch {
	case r.Run.BestValidation != nil:
		fmt.Fprintf(&b, ", the best after %d, validation %s %.4f", r.Run.BestIteration, r.validated(), *r.Run.BestValidation)
	case r.Run.Stopped == train.Interrupted:
		b.WriteString(", interrupted")
	}
	fmt.Fprintf(&b, "\nnoise std   %.4g of %q\n", r.NoiseStd, r.Target)
	fmt.Fprintf(&b, "wrote       %s\n", r.Model)
	_, err := io.WriteString(w, b.String())
	return err
}

// validated names the value of the validation.
func (r report) validated() string {
	if r.Run.Method == model.MethodVaLLA {
		return "NLL (standardised)"
	}
	return "squared error (standardised)"
}
