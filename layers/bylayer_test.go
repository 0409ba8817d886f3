package layers

import (
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

func TestByLayer(t *testing.T) {
	net, err := Build(SequentialForm{Input: []int{4}, Layers: Layers{
		DenseLayer{Name: "a", Outputs: 4}, ResidualLayer{Inner: Layers{DenseLayer{Name: "b.1", Outputs: 4}, DenseLayer{Name: "b.2", Outputs: 4}}},
	}}, tensor.Float64, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	net = append(net, net[0]) // shared
	var got []string
	for _, group := range ByLayer(net) {
		got = append(got, strings.Join(Names(group), " "))
	}
	if want := "[a.weight a.bias b.1.weight b.1.bias b.2.weight b.2.bias]"; fmt.Sprint(got) != want || len(got) != 3 {
		t.Errorf("%q", got)
	}
}
