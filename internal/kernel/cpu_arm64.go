//go:build !noasm

package kernel

// neon is the level of vectors of 16 bytes, which every arm64 processor has.
const neon = none + 1

var levels = [...]string{"none", "NEON"}

// simd is the level in use.
var simd = neon
