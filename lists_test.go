package valla_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/layers"
)

// formOf returns the form of a network of the gallery.
func formOf(t *testing.T, name string) layers.Form {
	t.Helper()
	form, err := valla.Network{Form: filepath.Join("layers", "onnx", "testdata", "gallery", name+".onnx")}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// TestPaddings: options become paddings of a network's inputs. A network of one input has one for all lists.
func TestPaddings(t *testing.T) {
	one := 1.0
	for _, of := range []struct {
		network string
		o       valla.ListOptions
		want    []data.Padding
	}{
		{"masked", valla.ListOptions{}, nil},
		{"text", valla.ListOptions{Pad: &one}, []data.Padding{{Length: 6, Value: 1}}},
		{"masked", valla.ListOptions{Mask: []string{"mask"}}, []data.Padding{{Column: "words", Length: 6, Mask: "mask"}}},
		{"masked", valla.ListOptions{Pad: &one, Mask: []string{"mask=words"}, Lengths: []string{"length"}}, []data.Padding{{Column: "words", Length: 6, Value: 1, Mask: "mask", Count: "length"}}},
		{"masked", valla.ListOptions{Pad: new(float64)}, []data.Padding{{Column: "words", Length: 6}, {Column: "mask", Length: 6}}},
		{"embeddings", valla.ListOptions{Lengths: []string{"day", "shop=x"}}, nil},
	} {
		got, err := of.o.Paddings(formOf(t, of.network))
		if of.network == "embeddings" {
			if err == nil || !strings.Contains(err.Error(), `has the mask "" and the lengths "day" already`) {
				t.Errorf("two lengths of a list: %v, error %v", got, err)
			}
		} else if err != nil || !slices.Equal(got, of.want) {
			t.Errorf("%s: %v, error %v, want %v", of.network, got, err, of.want)
		}
	}
}

// TestPaddingsErrors: names that do not suit the inputs are one clear error.
func TestPaddingsErrors(t *testing.T) {
	for want, o := range map[string]valla.ListOptions{
		`no input "masks" of the network, which has words [6], mask [6], length []`:               {Mask: []string{"masks"}},
		`length suits 0 lists of the inputs words [6], mask [6], length [], expected one: a mask`: {Mask: []string{"length"}},
		"mask=length suits 0 lists": {Mask: []string{"mask=length"}},
		"length suits 2 lists":      {Lengths: []string{"length"}},
		"mask suits 0 lists":        {Lengths: []string{"mask"}},
		`mask: the list of the input "words" has the mask "mask" and the lengths "" already`: {Mask: []string{"mask", "mask"}},
	} {
		if got, err := o.Paddings(formOf(t, "masked")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", got, err, want)
		}
	}
	if _, err := (valla.ListOptions{Mask: []string{"m"}}).Paddings(formOf(t, "text")); err == nil || !strings.Contains(err.Error(), "network of one input") {
		t.Errorf("error %v", err)
	}
}

// TestPaddingsKept: the model of a set keeps its paddings in the file, and a file with impossible ones is refused.
func TestPaddingsKept(t *testing.T) {
	path, set, _ := gallery(t, "masked")
	var err error
	if set.Paddings, err = (valla.ListOptions{Mask: []string{"mask"}, Lengths: []string{"length"}}).Paddings(formOf(t, "masked")); err != nil {
		t.Fatal(err)
	}
	m, err := valla.FromWeights(t.Context(), path, set, galleryOptions("masked"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "m.valla")
	if err := m.Save(file); err != nil {
		t.Fatal(err)
	}
	read, err := valla.Load(file)
	if err != nil || fmt.Sprint(read.Task.Inputs.Paddings) != fmt.Sprint(set.Paddings) || len(set.Paddings) != 1 {
		t.Fatalf("paddings %v, error %v, want %v", read.Task.Inputs.Paddings, err, set.Paddings)
	}
	read.Task.Inputs.Paddings = []data.Padding{{Column: "words"}}
	if err := (task.Task{Inputs: read.Task.Inputs, Outputs: read.Task.Outputs}).Check(); err == nil || !strings.Contains(err.Error(), `lists of "words" padded to 0 elements`) {
		t.Errorf("error %v", err)
	}
}
