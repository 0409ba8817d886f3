// Package corrupt makes the 19 common corruptions, at 5 severities each, of
// Hendrycks and Dietterich (2019, "Benchmarking Neural Network Robustness to
// Common Corruptions and Perturbations") out of colour images [3,h,w] of bytes,
// with the parameters of CIFAR-10-C. These are made for 32×32 pixels; other sizes
// work, and lengths then stay the same number of pixels unless said.
//
// Given the same random numbers, the corruptions are those of the authors' script
// for CIFAR-10-C byte for byte, but for one byte in ten thousand that is off by one
// because of the last digits of a sum. The random numbers are another generator's,
// so images of the published set agree in distribution and not one by one. Two are
// less alike, one is another:
//
//   - elastic_transform: one value in 80 differs, by up to 5, since OpenCV works
//     out positions in whole numbers.
//   - jpeg_compression: the encoder is not libjpeg, though tables and the halved
//     resolution of the colours are the same; values differ by 0.7 in the mean.
//   - frost: the original lays photographs over the images, which are not here; ice
//     is drawn instead. Its numbers are not comparable with published ones.
//
// Values are cut off to bytes, not rounded, as those of the published set are.
package corrupt
