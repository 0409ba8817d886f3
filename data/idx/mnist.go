package idx

import (
	"fmt"

	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/internal/gunzip"
)

// validation is the number of last training images that the VaLLA paper (Ortega,
// Rodríguez Santana and Hernández-Lobato 2024) keeps for early stopping.
const validation = 5000

// MNIST returns the handwritten digits (LeCun, Bottou, Bengio and Haffner 1998) from the
// folder dir. The folder holds the four files train-images-idx3-ubyte,
// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte; each may have
// .gz after its name. A missing file is an error that names the paths that were tried and
// wraps fs.ErrNotExist.
//
// The last 5,000 training images are for validation. They share memory with the others.
func MNIST(dir string) (*image.Splits, error) {
	return readSplits(dir, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
}

// FashionMNIST returns the pictures of clothes (Xiao, Rasul and Vollgraf 2017)
// from the folder dir. Its files have the names and the form of the files of [MNIST].
func FashionMNIST(dir string) (*image.Splits, error) {
	return readSplits(dir, []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
		"Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"})
}

func readSplits(dir string, names []string) (*image.Splits, error) {
	train, err := readPart(dir, "train", names)
	if err != nil {
		return nil, err
	}
	test, err := readPart(dir, "t10k", names)
	if err != nil {
		return nil, err
	}
	if train.N <= validation {
		return nil, fmt.Errorf("%s: %w: %d training images, expected more than the %d for validation",
			dir, ErrFormat, train.N, validation)
	}
	if train.H != test.H || train.W != test.W {
		return nil, fmt.Errorf("%s: %w: test images of %d×%d pixels, expected %d×%d like the training images",
			dir, ErrFormat, test.H, test.W, train.H, train.W)
	}
	return &image.Splits{
		Train:      train.Slice(0, train.N-validation),
		Validation: train.Slice(train.N-validation, train.N),
		Test:       test,
	}, nil
}

// readPart reads one image file and its label file.
func readPart(dir, prefix string, names []string) (*image.Set, error) {
	images, err := gunzip.Find(dir, prefix+"-images-idx3-ubyte")
	if err != nil {
		return nil, err
	}
	labels, err := gunzip.Find(dir, prefix+"-labels-idx1-ubyte")
	if err != nil {
		return nil, err
	}
	s, err := readSet(images, labels, len(names))
	if err != nil {
		return nil, err
	}
	s.Names = names
	return s, nil
}
