// Package corrupt applies the 19 common corruptions of Hendrycks and Dietterich (2019,
// "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations"), at 5
// severities each, to colour images [3,h,w] of bytes. The parameters come from CIFAR-10-C,
// which are made for 32×32 pixels. Other sizes work too; lengths are then the same numbers of
// pixels unless a comment says otherwise.
//
// With the same random numbers, the results equal the output of the authors' script for CIFAR-10-C,
// byte for byte, except that one byte in ten thousand is off by one because of the last
// digits of a sum. The random numbers come from another generator, so that the results agree
// with the published set in distribution and not image by image. Three corruptions differ
// more:
//
//   - elastic_transform: one value in 80 differs, by up to 5, because OpenCV computes
//     positions in whole numbers.
//   - jpeg_compression: the encoder is not libjpeg, although the tables and the halved
//     resolution of the colours are the same. Values differ by 0.7 in the mean.
//   - frost: the original lays photographs over the images. This package does not have
//     them and draws ice instead, so that scores on its images are not comparable with
//     published ones.
//
// Values are cut off to bytes, not rounded, as in the published set.
package corrupt
