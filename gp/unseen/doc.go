// Package unseen makes pseudo-rows from the rows on which a network was trained. Pseudo-rows stand for rows that
// the network has not seen.
//
// A network that was trained elsewhere has seen all rows at hand. If the network has memorised the rows, its
// residuals on them are near zero. Rows that are held out of a fit then do not show how large the network's error
// is on new rows. Three things show it:
//
//   - Between a row and its nearest neighbour the network has to guess. Pseudo-rows of vectors lie there.
//   - A part of an image, made as large as the whole, is another image of the same class. Pseudo-rows of images
//     are such parts.
//   - In regression, kernel regression on a row's neighbours predicts the row without using it. The residual shows
//     how well the targets can be predicted from the inputs, whatever the network has memorised.
//
// In classification a pseudo-row has the label of its row. In regression its target is the network's output at
// the pseudo-row plus a residual at the row. This is the residual of kernel regression if the network has
// memorised its rows, and otherwise the network's own residual, made a little larger.
//
// docs/honest.md compares this with other criteria.
package unseen
