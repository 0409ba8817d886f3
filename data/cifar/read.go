package cifar

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/gunzip"
)

// batches is the number of batches for training.
const batches = 5

// layout holds numbers of images.
type layout struct {
	batch int // images of a batch
	// validation is the number of images of the last batch that the VaLLA paper (Ortega,
	// Rodríguez Santana and Hernández-Lobato 2024) keeps for early stopping.
	validation int
}

var published = layout{batch: 10000, validation: 5000}

// CIFAR10 returns the pictures of animals and vehicles (Krizhevsky 2009) from the folder
// dir. The folder holds the files data_batch_1.bin to data_batch_5.bin and test_batch.bin;
// each may have .gz after its name. If the folder has no such file, CIFAR10 reads the file
// [Archive] there.
//
// The training images are in the order of the batches, and the last 5,000 images of batch 5 are the
// validation images. Batches 1 to 4 may be absent. Batch 5 and the test batch are needed. Without
// them the error names the paths that were tried and wraps fs.ErrNotExist.
func CIFAR10(dir string) (*image.Splits, error) { return published.read(dir) }

func (l layout) read(dir string) (*image.Splits, error) {
	files, err := find(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return l.readArchive(filepath.Join(dir, Archive))
	}
	for _, name := range []string{batchName(batches), testName} {
		if files[name] == "" {
			p := filepath.Join(dir, name)
			return nil, fmt.Errorf("no file %s or %s.gz: %w", p, p, fs.ErrNotExist)
		}
	}
	a := l.assembly(files)
	for _, name := range names() {
		if files[name] == "" {
			continue
		}
		if err := readFile(files[name], a.parts[name]); err != nil {
			return nil, err
		}
	}
	return a.splits(l), nil
}

const testName = "test_batch.bin"

func batchName(i int) string { return fmt.Sprintf("data_batch_%d.bin", i) }

// names returns the file names of all batches.
func names() []string {
	all := []string{testName}
	for i := range batches {
		all = append(all, batchName(i+1))
	}
	return all
}

// find returns the paths of the batches that exist, compressed or not, by their names.
func find(dir string) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range names() {
		path, err := gunzip.Find(dir, name)
		if err == nil {
			files[name] = path
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return files, nil
}

// An assembly has room for each batch. The batches for training are one after the other.
type assembly struct {
	train, test *image.Set            // all images for training, and those for testing
	parts       map[string]*image.Set // by name; they share the memory of train and test
}

// assembly makes room for the batches for which files has a path.
func (l layout) assembly(files map[string]string) *assembly {
	var have []int
	for i := range batches {
		if files[batchName(i+1)] != "" {
			have = append(have, i+1)
		}
	}
	a := &assembly{train: newSet(len(have) * l.batch), test: newSet(l.batch)}
	a.parts = map[string]*image.Set{testName: a.test}
	for place, i := range have {
		a.parts[batchName(i)] = a.train.Slice(place*l.batch, (place+1)*l.batch)
	}
	return a
}

func (a *assembly) splits(l layout) *image.Splits {
	n := a.train.N - l.validation
	return &image.Splits{Train: a.train.Slice(0, n), Validation: a.train.Slice(n, a.train.N), Test: a.test}
}

func readFile(name string, s *image.Set) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return decode(s, f, name)
}
