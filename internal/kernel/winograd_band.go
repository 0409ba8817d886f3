package kernel

// tileBand holds the places of the pixels of tileLanes tiles in a plane. The pixels lie in two rows of four
// units, where a unit has 8 pixels or 4 tiles, and in the rows above and below. The assembly relies on the
// order of the fields.
type tileBand struct {
	at  [tileUnits]int // first pixel of each unit, in the upper row
	row int            // elements of a row

	// pixels selects the pixels that exist, for each unit in the row above, the upper and the lower row and the row
	// below. Pixels of the second and fourth unit are the upper halves of vectors.
	pixels [4][tileUnits]uint16

	left, right uint16 // the lanes whose tiles have a neighbour there

	results [2][tileUnits]uint16 // selects the results that the band computes, in the upper and the lower row
}

// laneOf returns the lane of tile t of a band, where shuffles within quarters of a vector put the tile.
func laneOf(t int) int { return t%8/2*4 + t/8*2 + t%2 }

// bandWidth is the most pixels of a row of a band. Bands of longer rows overlap, because the tiles at their ends
// lack a neighbour.
const bandWidth = 8 * tileUnits

// bandPixels returns how many pixels the units of a row of a band have.
func (c Conv) bandPixels() int {
	width := 8
	for width < min(c.Width, bandWidth) {
		width *= 2
	}
	return width
}

// appendBands appends the bands of a plane to list.
func (c Conv) appendBands(list []tileBand) []tileBand {
	width := c.bandPixels()
	tiles := width / 2 // in a row of a band
	var b tileBand
	for t := range tileLanes {
		if t%tiles != 0 {
			b.left |= 1 << laneOf(t)
		}
		if (t+1)%tiles != 0 {
			b.right |= 1 << laneOf(t)
		}
	}
	b.row = c.Width
	if c.Width > bandWidth {
		for row := 0; row < c.Height; row += 2 {
			for done := 0; done < c.Width; {
				done = c.longBand(&b, row, done)
				list = append(list, b)
			}
		}
		return list
	}
	for row := 0; row < c.Height; row += 2 * bandWidth / width {
		for q := range tileUnits {
			c.setUnit(&b, q, row+8*q/width*2, 8*q%width, 0, c.Width)
		}
		list = append(list, b)
	}
	return list
}

// longBand makes b a band of a row that is longer than a band, for the results from done on. It returns up to which
// column the results are computed then.
func (c Conv) longBand(b *tileBand, row, done int) (end int) {
	first := min(max(done-1, 0), c.Width-bandWidth)
	end = first + bandWidth - 1
	if first == c.Width-bandWidth {
		end = c.Width
	}
	for q := range tileUnits {
		c.setUnit(b, q, row, first+8*q, done, end)
	}
	return end
}

// setUnit makes unit q of a band begin at a row and a column of the plane, with results in the columns from lo to
// hi−1. A unit outside the plane has no pixels.
func (c Conv) setUnit(b *tileBand, q, row, column, lo, hi int) {
	b.at[q] = row*c.Width + column
	shift := 8 * (q % 2)
	for i := range b.pixels {
		b.pixels[i][q] = 0
		if y := row + i - 1; y >= 0 && y < c.Height {
			b.pixels[i][q] = columnMask(column, 0, c.Width) << shift
		}
	}
	for i := range b.results {
		b.results[i][q] = 0
		if row+i < c.Height {
			b.results[i][q] = columnMask(column, lo, hi)
		}
	}
}

// columnMask selects those of 8 columns from first on that lie between lo and hi−1.
func columnMask(first, lo, hi int) (mask uint16) {
	for i := range 8 {
		if x := first + i; x >= lo && x < hi {
			mask |= 1 << i
		}
	}
	return mask
}

// tileShape reports whether filters and channels are such that tiles can compute the convolution.
func (c Conv) tileShape() bool {
	return c.KernelHeight == 3 && c.KernelWidth == 3 && c.Stride == 1 && c.Padding == 1 &&
		c.In%tileLanes == 0 && c.Out%tileLanes == 0
}

// wholeTiles reports whether tiles fill the bands of a plane, and bands do not overlap.
func (c Conv) wholeTiles() bool {
	return c.tileShape() && c.Width == c.bandPixels() && c.Height*c.Width%(4*tileLanes) == 0
}

// tileable reports whether the convolution can be computed tile by tile. Bands that have more than one and a half times
// the pixels of the plane would cost most of what tiles save.
func (c Conv) tileable() bool {
	width := c.bandPixels()
	bands := ceilDiv(c.Height, 2*bandWidth/width)
	if c.Width > bandWidth {
		bands *= ceilDiv(c.Width-2, bandWidth-2)
	}
	return c.tileShape() && 2*bands*4*tileLanes <= 3*c.Height*c.Width
}
