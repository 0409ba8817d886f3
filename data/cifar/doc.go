// Package cifar reads the binary batches of CIFAR-10 (Krizhevsky 2009). They may be plain
// files, files compressed with gzip, or in the published archive. The content shows whether a
// file is compressed; its name does not matter.
//
// A batch is 10,000 records of 3,073 bytes. A record is the label, then the red, the green
// and the blue plane of 32×32 pixels, each row-major
// (https://www.cs.toronto.edu/~kriz/cifar.html).
//
// A file with a fault is refused as a whole. The error is one line with the file, the
// number of the record, counted from 0, and what was expected and found there.
package cifar
