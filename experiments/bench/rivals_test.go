package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// Checkouts are told apart by their files; a row whose checkout was not given is left to this side.
func TestCheckouts(t *testing.T) {
	dirs := map[code]string{}
	var all []string
	for c, file := range signs {
		dirs[c] = t.TempDir()
		path := filepath.Join(dirs[c], filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		all = append(all, dirs[c])
	}
	found, err := checkoutsIn(strings.Join(all, ","))
	if err != nil || len(found) != len(signs) {
		t.Fatalf("found %v, error %v", found, err)
	}
	for c, dir := range found {
		if dir != dirs[c] {
			t.Errorf("%s is %s, expected %s", c, dir, dirs[c])
		}
	}
	if _, err := checkoutsIn(all[0] + "," + t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no checkout") {
		t.Errorf("error %v", err)
	}
	p := &peer{checkouts: map[code]string{codeVaLLA: all[0]}}
	if _, stop, err := p.open(t.Context(), benchmark{kind: "ella fit"}, tensor.Float64, nil, 1); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "ELLA") {
		t.Errorf("error %v", err)
		stop()
	}
}

// A step of FMGP changes the loss of the next, and a fit of ELLA gives the same covariances again.
func TestRivals(t *testing.T) {
	w, err := fmgpStep(4, 2, 6, 10)(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.collect(t.Context(), 2)
	if err != nil || len(v["loss"]) != 2 || v["loss"][0] == v["loss"][1] || w.bytes <= 0 {
		t.Errorf("losses %v, %d bytes, error %v", v["loss"], w.bytes, err)
	}
	if w, err = ellaFit(tensor.Float32); err != nil {
		t.Fatal(err)
	}
	if v, err = w.collect(t.Context(), 2); err != nil || len(v["covariance"]) != 2*100*ellaProbe {
		t.Fatalf("%d covariances, error %v", len(v["covariance"]), err)
	}
	if half := len(v["covariance"]) / 2; v["covariance"][7] != v["covariance"][half+7] || v["covariance"][0] <= 0 {
		t.Errorf("%v and %v", v["covariance"][7], v["covariance"][half+7])
	}
}

// A row has the same prediction alone as among many rows.
func TestPredictOne(t *testing.T) {
	w, err := predictOne(service{"", little, 3})(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.collect(t.Context(), 1)
	if err != nil || len(v["mean"]) != 2 || len(v["covariance"]) != 4 || len(v["probabilities"]) != 2 {
		t.Fatalf("values %v, error %v", v, err)
	}
}
