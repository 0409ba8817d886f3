package model

import (
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// Files with other numbers and names in the header and flipped bits in the arrays are
// errors or models that can be written, whatever their posterior, and none takes much
// memory.
func TestLoadOfMutatedFiles(t *testing.T) {
	const limit = 64 << 20 // the files have 10 kB; reading an array and compiling a network take buffers
	rng := rand.New(rand.NewPCG(1, 2))
	for name, m := range everyPosterior(t, tensor.Float64) {
		list := unpack(t, read(t, saved(t, m)))
		for range 12 {
			l := slices.Clone(list)
			for range 1 + rng.IntN(2) {
				mutate(l, rng)
			}
			file := pack(t, l)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := decode(bytes.NewReader(file), int64(len(file)))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > limit {
				t.Errorf("%s: %d bytes allocated for a file of %d: %v", name, used, len(file), err)
			}
			if err != nil {
				continue
			}
			if err := cmp.Or(m.checkAll(), m.encode(io.Discard)); err != nil {
				t.Errorf("%s: a model that was read cannot be written: %v\n%s", name, err, l[0].body)
			}
		}
	}
}

var (
	number       = regexp.MustCompile(`-?[0-9][0-9.e+-]*`)
	replacements = []string{"0", "-1", "1", "2", "3", "1e308", "1e-308", "4611686018427387904", "1000000", "0.5", "null", `"full"`, `"functions"`, "[]", "4096"}
)

// mutate changes one member of a file, most often the header.
func mutate(l []member, rng *rand.Rand) {
	k := 0
	if rng.IntN(3) == 0 {
		k = rng.IntN(len(l))
	}
	body := slices.Clone(l[k].body)
	if k == 0 {
		at := number.FindAllIndex(body, -1)
		a := at[rng.IntN(len(at))]
		body = slices.Concat(body[:a[0]], []byte(replacements[rng.IntN(len(replacements))]), body[a[1]:])
	} else {
		for range 3 {
			body[len(body)-1-rng.IntN(min(len(body), 64))] ^= byte(1 << rng.IntN(8))
		}
	}
	l[k].body = body
}
