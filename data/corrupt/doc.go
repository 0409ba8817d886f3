// Package corrupt makes the 19 common corruptions, at 5 severities each, of
// Hendrycks and Dietterich (2019, "Benchmarking Neural Network Robustness to
// Common Corruptions and Perturbations") out of colour images [3,h,w] of bytes,
// with the parameters of CIFAR-10-C. These are made for 32×32 pixels; other sizes
// work, lengths then stay the same number of pixels unless said.
//
// Values are cut off to bytes, not rounded, as those of the published set are.
// Where chance is involved, another generator than the original's is at work, so
// images agree in distribution and not one by one. What else differs:
//
//   - frost: the original lays photographs over the images, which are not here; a
//     texture is drawn instead. Its numbers are not comparable with published ones.
//   - jpeg_compression: another encoder than libjpeg, with the same tables and the
//     same halved resolution of the colours; a byte differs by a few at times.
//   - elastic_transform: positions are exact, where OpenCV rounds them to 1/32 of
//     a pixel.
//   - brightness, contrast, saturate, defocus_blur, zoom_blur, motion_blur, snow,
//     fog, spatter: up to the last digits of a sum, which a byte shows at times.
//
// gaussian_blur and pixelate are those of SciPy and Pillow byte for byte.
package corrupt
