package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	Classes  []float64 `json:"classes,omitempty"`
	NoiseStd float64   `json:"noise_std,omitempty"` // in the units of the target
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
		Classes: m.Classes, NoiseStd: m.NoiseStd(), Run: m.Training[len(m.Training)-1],
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
	switch r.Run.Method {
	case model.MethodLLA:
		r.writeLLA(&b)
	case model.MethodVaLLA:
		fmt.Fprintf(&b, "posterior   %d inducing points, prior std %.4g\n", r.Run.Inducing, r.Run.PriorStd)
		fallthrough
	default:
		r.writeIterations(&b)
	}
	if r.Classes != nil {
		fmt.Fprintf(&b, "classes     %d of %q\n", len(r.Classes), r.Target)
	} else {
		fmt.Fprintf(&b, "noise std   %.4g of %q\n", r.NoiseStd, r.Target)
	}
	fmt.Fprintf(&b, "wrote       %s\n", r.wrote())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r report) writeIterations(b *strings.Builder) {
	fmt.Fprintf(b, "iterations  %d in %.1f s", r.Run.Iterations, r.Run.Seconds)
	switch {
	case r.Run.BestValidation != nil:
		fmt.Fprintf(b, ", the best after %d, validation %s %.4f", r.Run.BestIteration, r.validated(), *r.Run.BestValidation)
	case r.Run.Stopped == train.Interrupted:
		b.WriteString(", interrupted")
	}
	b.WriteString("\n")
}

func (r report) writeLLA(b *strings.Builder) {
	l := r.Run.LLA
	fmt.Fprintf(b, "posterior   LLA %v of %d weights, %.1f determined by the data, in %.1f s\n", l.Structure, l.Parameters, l.EffectiveParameters, r.Run.Seconds)
	for i, name := range l.Priors {
		fmt.Fprintf(b, "prior std   %.4g of %s (%s)\n", l.PriorStds[i], name, l.Hyper)
	}
	fmt.Fprintf(b, "evidence    log marginal likelihood %.4f\n", l.LogMarginalLikelihood)
}

// wrote names the file and its size.
func (r report) wrote() string {
	info, err := os.Stat(r.Model)
	if err != nil {
		return r.Model
	}
	return fmt.Sprintf("%s (%d kB)", r.Model, (info.Size()+999)/1000)
}

// validated names the value of the validation.
func (r report) validated() string {
	switch {
	case r.Classes != nil:
		return "NLL"
	case r.Run.Method == model.MethodVaLLA:
		return "NLL (standardised)"
	}
	return "squared error (standardised)"
}
