// Package layertest helps to test networks: a conformance suite that every layer and every
// form of a network must pass, [Conform] and [ConformForms], and the networks of the
// reference fixtures for images, [Images].
//
// A layer or form that is added in another package is put through the suite by one row:
//
//	func TestGain(t *testing.T) {
//		layertest.Conform(t, []layertest.Case{{Name: "gain", Layer: Gain{Start: 1}, Input: []int{5}}})
//	}
package layertest
