// Package augment changes colour images [3,h,w] of bytes at random for the training of
// networks. It crops, mirrors and resizes them, in any order, and normalises them at the
// end.
//
// The steps equal torchvision's transforms for images that are no tensors. Padding is
// black before normalisation, as in torchvision if RandomCrop comes before ToTensor.
//
// The changes of an image depend only on the seed, on a number for the time (the iteration or
// the epoch) and on the image's own number. A training that is resumed sees the same images,
// however many goroutines share the work.
package augment
