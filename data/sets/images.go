package sets

import (
	"fmt"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/internal/fetch"
)

// images returns the sets of images. Sizes and sums belong to the files as first
// published. The MD5 sums of these files are public too. The tests compare both if the files are
// there.
func images() []Set {
	return []Set{
		{Dataset: cifar10(), Folder: "cifar10", Splits: 1, images: cifar.CIFAR10},
		{Dataset: fashionMNIST(), Folder: "fashion-mnist", Splits: 1, Other: "mnist", images: idx.FashionMNIST},
		{Dataset: mnist(), Folder: "mnist", Splits: 1, Other: "fmnist", images: idx.MNIST},
	}
}

// allBatches reads the batches of CIFAR-10, which may replace the archive. All have 50,000 images to train, of which the last 5,000
// are for validation.
func allBatches(dir string) error {
	s, err := cifar.CIFAR10(dir)
	if err == nil && s.Train.N < 45_000 {
		return fmt.Errorf("%d images to train, expected 45000", s.Train.N)
	}
	return err
}

// The authors' page gives the archive's MD5 sum, c32a1d4ab5d03f1284b67883e8d87530;
// size and SHA-256 sum are those that TensorFlow Datasets checks.
func cifar10() fetch.Dataset {
	return fetch.Dataset{
		Name:    "cifar10",
		Title:   "CIFAR-10 pictures of animals and vehicles (Krizhevsky 2009)",
		Source:  "https://www.cs.toronto.edu/~kriz/cifar.html",
		Licence: "no licence stated by the authors, who ask to cite their report",
		Mirrors: []string{
			"https://www.cs.toronto.edu/~kriz/",
			"https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/",
			"https://mindspore-website.obs.cn-north-4.myhuaweicloud.com/notebook/datasets/",
		},
		Files: []fetch.File{
			{Name: cifar.Archive, Size: 170052171, SHA256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
		},
		Or: allBatches,
	}
}

func mnist() fetch.Dataset {
	return fetch.Dataset{
		Name:    "mnist",
		Title:   "MNIST handwritten digits (LeCun, Bottou, Bengio and Haffner 1998)",
		Source:  "http://yann.lecun.com/exdb/mnist/",
		Licence: "no licence stated by the authors; commonly given as CC BY-SA 3.0",
		Mirrors: []string{
			"https://ossci-datasets.s3.amazonaws.com/mnist/",
			"https://storage.googleapis.com/cvdf-datasets/mnist/",
			"https://raw.githubusercontent.com/fgnt/mnist/master/",
			"http://yann.lecun.com/exdb/mnist/",
		},
		Files: []fetch.File{
			{Name: "train-images-idx3-ubyte.gz", Size: 9912422, SHA256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
			{Name: "train-labels-idx1-ubyte.gz", Size: 28881, SHA256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
			{Name: "t10k-images-idx3-ubyte.gz", Size: 1648877, SHA256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
			{Name: "t10k-labels-idx1-ubyte.gz", Size: 4542, SHA256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
		},
	}
}

func fashionMNIST() fetch.Dataset {
	return fetch.Dataset{
		Name:    "fmnist",
		Title:   "Fashion-MNIST pictures of clothes (Xiao, Rasul and Vollgraf 2017)",
		Source:  "https://github.com/zalandoresearch/fashion-mnist",
		Licence: "MIT, Zalando SE",
		Mirrors: []string{
			"https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
			"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
			"https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
			"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		},
		Files: []fetch.File{
			{Name: "train-images-idx3-ubyte.gz", Size: 26421880, SHA256: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
			{Name: "train-labels-idx1-ubyte.gz", Size: 29515, SHA256: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
			{Name: "t10k-images-idx3-ubyte.gz", Size: 4422102, SHA256: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
			{Name: "t10k-labels-idx1-ubyte.gz", Size: 5148, SHA256: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
		},
	}
}
