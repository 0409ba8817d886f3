//go:build !noasm

package kernel

func fillRegion[T Float](v view, r region, image, u []T, size int) {
	fillRegionGo(v, r, image, u, size)
}
