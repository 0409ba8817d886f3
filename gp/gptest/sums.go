package gptest

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
)

// Passes makes a posterior anew from sums over examples, which are computed in parts of the
// given size, each by sums of its own, and added. held may be nil.
func Passes(ctx context.Context, q gp.Summed, l likelihood.Likelihood, e gp.Examples, size int, held *gp.Examples) (*gp.Fitted, error) {
	all := map[string][]float64{}
	var last gp.Sums
	for first := 0; first < e.N(); first += size {
		var rows []int
		for i := first; i < min(first+size, e.N()); i++ {
			rows = append(rows, i)
		}
		s, err := q.Sums(l, gp.Run{})
		if err == nil {
			err = s.Add(ctx, e.Rows(rows))
		}
		if err != nil {
			return nil, err
		}
		err = s.Each(func(name string, v *[]float64, shape ...int) error {
			if all[name] == nil {
				all[name] = make([]float64, len(*v))
			}
			if len(all[name]) != len(*v) {
				return fmt.Errorf("%s: %d numbers, then %d", name, len(all[name]), len(*v))
			}
			for i, x := range *v {
				all[name][i] += x
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		last = s
	}
	err := last.Each(func(name string, v *[]float64, _ ...int) error {
		*v = all[name]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return last.Finish(ctx, e.N(), held)
}
