// Package unseen makes, of rows that a network was trained on, rows that stand for ones it
// has not seen.
//
// A network that was trained elsewhere has seen all rows at hand. Where it knows them by
// heart its residuals on them are near zero, and so no part of them, held out of a fit,
// tells how far it is off on new rows. Three things do:
//
//   - Between a row and its nearest neighbour the network has to guess. The pseudo-rows lie
//     there.
//   - Of an image, a part that is made as large as the whole is another image of the same class. The
//     pseudo-rows of images are such parts.
//   - Of numbers, the residual of another regression that leaves the row out: kernel
//     regression on the row's neighbours. Its error tells how well the targets can be
//     predicted from the inputs, whatever the network has memorised.
//
// With classes a pseudo-row has the label of its row. With numbers its target is the
// network's output there plus the residual at the row: that of kernel regression or, where the
// network does not know its rows by heart, its own, made a little larger.
//
// docs/honest.md compares this with other criteria.
package unseen
