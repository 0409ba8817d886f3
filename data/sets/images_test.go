package sets

import (
	"crypto/md5"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// The table agrees with the real files, and these have the MD5 sums published by
// the authors of Fashion-MNIST (in its README) and by torchvision for MNIST.
func TestFixtureSums(t *testing.T) {
	published := map[string][]string{
		"mnist": {"f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432",
			"9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c"},
		"fmnist": {"8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
			"bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310"},
	}
	for name := range published {
		d, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := d.Dir(fixture.Shared(t, "data"))
		if missing, err := d.Missing(dir); err != nil || len(missing) != 0 {
			t.Errorf("%s: files %v differ from the table (%v)", d.Name, missing, err)
		}
		for i, f := range d.Files {
			content, err := os.ReadFile(filepath.Join(dir, f.Name))
			if err != nil {
				t.Fatal(err)
			}
			sum := md5.Sum(content)
			if got := hex.EncodeToString(sum[:]); got != published[d.Name][i] {
				t.Errorf("%s %s: MD5 %s, published %s", d.Name, f.Name, got, published[d.Name][i])
			}
		}
	}
	if a, b := mnist().Size(), fashionMNIST().Size(); a != 11594722 || b != 30878645 {
		t.Errorf("sizes %d and %d, want 11594722 and 30878645, the sums of the files'", a, b)
	}
}

// The batches beside the module are not in the published archive; they count because
// reading them finds no fault.
func TestFixtureBatches(t *testing.T) {
	s, err := Lookup("cifar10")
	if err != nil {
		t.Fatal(err)
	}
	missing, err := s.Missing(s.Dir(fixture.Shared(t, "data")))
	if err != nil || len(missing) != 0 {
		t.Errorf("files %v are missing (%v)", missing, err)
	}
}
