// Package cifar reads the binary batches of CIFAR-10 (Krizhevsky 2009), plain,
// compressed with gzip, or in the published archive. Compression is told from the
// content and not from the name.
//
// A batch is 10,000 records of 3,073 bytes: the label, then the red, the green
// and the blue plane of 32×32 pixels, row-major
// (https://www.cs.toronto.edu/~kriz/cifar.html).
//
// A file with a fault is refused as a whole. The error is one line with the file, the
// number of the record, counted from 0, and what was expected and found there.
package cifar
