package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
	"gorgonia.org/tensor"
)

// TestNetworkShowOfVision: the plan of a vision transformer counts all its weights, and takes the names of the weights of a
// block. If tests are long, the transformer is ViT-tiny.
func TestNetworkShowOfVision(t *testing.T) {
	t.Parallel()
	v, params := onnxtest.Vision{Image: 16, Patch: 4, Width: 8, Blocks: 2, Heads: 2, Outputs: 5}, 2*(12*8*8+13*8)+8*(3*16+1)+8+17*8+2*8+5*9
	if fixture.Long() {
		v, params = onnxtest.Vision{Image: 224, Patch: 16, Width: 192, Blocks: 12, Heads: 3, Outputs: 1000}, 5717416 // of timm's vit_tiny_patch16_224
	}
	g, shapes := onnxtest.ViT(v), map[string][]int{}
	for _, a := range g.Arrays {
		shapes[a.Name] = a.Shape
	}
	file := onnxtest.Encode(g, []int{3, v.Image, v.Image}, func(name string) *tensor.Dense {
		return tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shapes[name]...))
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "vit.onnx"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprintf("blocks.%d.*", v.Blocks-1)
	for weights, want := range map[string]string{"all": fmt.Sprintf("%d parameters", params), last: fmt.Sprintf("%d of them are uncertain", 12*v.Width*v.Width+13*v.Width)} {
		if out := must(t, dir, "network", "show", "vit.onnx", "--weights", weights, "--inducing", "2", "--batch-size", "2"); !strings.Contains(out, want) {
			t.Errorf("%s: show lacks %q: %q", weights, want, out)
		}
	}
}
