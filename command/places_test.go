//go:build linux || darwin

package command_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// TestNetworkPlaces: classes of words and of pixels are fitted, predicted and evaluated for each place.
func TestNetworkPlaces(t *testing.T) {
	for name, c := range map[string]struct{ places, classes int }{"tagger": {6, 3}, "unet": {16, 2}} {
		dir, net := t.TempDir(), galleryNetwork(t, name)
		ref, err := npy.ReadArchive(strings.TrimSuffix(net, ".onnx") + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(4, 4))
		x, _ := ref.Get("x")
		x = moved(x, 20, false, rng)
		y := make([]int64, 20*c.places)
		for i := range y {
			y[i] = int64(rng.IntN(c.classes))
		}
		if err := npy.WriteArchive(filepath.Join(dir, "rows.npz"), []string{"X", "y"}, []*tensor.Dense{x, tensor.New(tensor.WithShape(20, c.places), tensor.WithBacking(y))}); err != nil {
			t.Fatal(err)
		}
		must(t, dir, "network", "places", net, "rows.npz", "--out", "places.npz", "--head", "head.valla")
		for _, method := range []string{"lla", "valla", "fmgp"} {
			flags := []string{"fit", "places.npz", "--model", "head.valla", "--method", method, "--out", "m.valla"}
			if method != "lla" {
				flags = append(flags, "--iterations", "5", "--inducing", "10")
			}
			must(t, dir, flags...)
			if out := must(t, dir, "predict", "places.npz", "--model", "m.valla"); strings.Count(out, "\n") != 20*c.places+1 || !strings.Contains(out, "prob_1") && !strings.Contains(out, "p_1") {
				t.Errorf("%s by %s: %d lines: %.200s", name, method, strings.Count(out, "\n"), out)
			}
			must(t, dir, "eval", "places.npz", "--model", "m.valla")
		}
		scaled := []string{"network", "places", net, "rows.npz", "--out", "places.npz"}
		fails(t, dir, 2, "3 means and 3 standard deviations, expected", with(scaled, "--mean", "1,2,3", "--std", "1,2,3")...)
		fails(t, dir, 2, "standard deviation 0, expected finite values and a positive deviation", with(scaled, "--std", "0")...)
		single := tensor.New(tensor.FromScalar(2.0))
		for array, both := range map[string][]*tensor.Dense{"X": {single, single}, "y": {x, single}} {
			if err := npy.WriteArchive(filepath.Join(dir, "one.npz"), []string{"X", "y"}, both); err != nil {
				t.Fatal(err)
			}
			fails(t, dir, 1, fmt.Sprintf("array %q of shape (), expected [N,...]", array), "network", "places", net, "one.npz", "--out", "places.npz")
		}
	}
}
