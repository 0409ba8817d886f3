// Package augment changes colour images [3,h,w] of bytes at random, as networks are
// trained with: cropped, mirrored, resized, in any order, and normalised in the end.
//
// The steps are those of torchvision's transforms for images that are no tensors.
// Padding is black before normalisation, as it is where RandomCrop stands before
// ToTensor.
//
// What happens to an image is a function of the seed, a number for the time (the
// iteration or the epoch) and the image's own number alone. A training that is
// resumed sees the same images, however many goroutines share the work.
package augment
