package layers

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
)

// Convolution describes a convolution of images [C,H,W] with all settings and PyTorch's
// conventions; see [graph.Builder.Convolution] and [graph.Builder.ConvTranspose]. A list has a
// number for rows and a number for columns, or one number for both.
type Convolution struct {
	Name       string `json:"name,omitempty"`       // empty: convolution1, convolution2, …
	Filters    int    `json:"filters"`              // channels of the outputs
	Kernel     []int  `json:"kernel"`               // rows and columns of a filter
	Stride     []int  `json:"stride,omitempty"`     // none: 1
	Dilation   []int  `json:"dilation,omitempty"`   // none: 1
	Padding    []int  `json:"padding,omitempty"`    // rows and columns of zeros on each side
	Groups     int    `json:"groups,omitempty"`     // groups of channels that do not see each other; 0: 1
	Bias       bool   `json:"bias,omitempty"`       // with a bias, which starts at 0
	Transposed bool   `json:"transposed,omitempty"` // the transposed map
}

func init() { RegisterLayer[Convolution]("convolution") }

// pair returns the numbers for rows and columns.
func pair(list []int, none int) ([2]int, error) {
	switch len(list) {
	case 0:
		return [2]int{none, none}, nil
	case 1:
		return [2]int{list[0], list[0]}, nil
	case 2:
		return [2]int(list), nil
	}
	return [2]int{}, fmt.Errorf("%v, expected a number for rows and one for columns", list)
}

// options returns the settings of the operation and the rows and columns of a filter.
func (l Convolution) options() (o graph.ConvOptions, kernel [2]int, err error) {
	o.Groups = max(l.Groups, 1)
	var padding [2]int
	for _, s := range []struct {
		to   *[2]int
		list []int
		none int
		low  int
	}{{&kernel, l.Kernel, 0, 1}, {&o.Stride, l.Stride, 1, 1}, {&o.Dilation, l.Dilation, 1, 1}, {&padding, l.Padding, 0, 0}} {
		if *s.to, err = pair(s.list, s.none); err == nil && (min(s.to[0], s.to[1]) < s.low || max(s.to[0], s.to[1]) > maxNumbers) {
			err = fmt.Errorf("kernel %v, stride %v, dilation %v and padding %v: too small or too large, expected at least 1, padding at least 0",
				l.Kernel, l.Stride, l.Dilation, l.Padding)
		}
		if err != nil {
			return o, kernel, err
		}
	}
	o.Before, o.After = padding, padding
	return o, kernel, nil
}

// fit returns the settings of the operation, the rows and columns of a filter, and the shape of
// the output for one example of shape in.
func (l Convolution) fit(in []int) (o graph.ConvOptions, kernel [2]int, out []int, err error) {
	if err := expectImages(in); err != nil {
		return o, kernel, nil, err
	}
	if o, kernel, err = l.options(); err != nil {
		return o, kernel, nil, err
	}
	if l.Filters > maxNumbers {
		return o, kernel, nil, fmt.Errorf("%d filters: too large", l.Filters)
	}
	if l.Groups < 0 || l.Filters < 1 || in[0]%o.Groups != 0 || l.Filters%o.Groups != 0 {
		return o, kernel, nil, fmt.Errorf("%d filters for %d channels in %d groups", l.Filters, in[0], o.Groups)
	}
	out = []int{l.Filters, 0, 0}
	for d := range 2 {
		reach := o.Dilation[d] * (kernel[d] - 1)
		if room := in[1+d] + 2*o.Before[d] - reach - 1; l.Transposed {
			out[1+d] = (in[1+d]-1)*o.Stride[d] + reach + 1 - 2*o.Before[d]
		} else if room >= 0 {
			out[1+d] = room/o.Stride[d] + 1
		}
		if out[1+d] < 1 {
			return o, kernel, nil, fmt.Errorf("a kernel of %v with padding %v does not fit images of %v", kernel, o.Before, in)
		}
	}
	return o, kernel, out, nil
}

// Make implements Layer. Filters are drawn from N(0, 2/fan), where fan counts the products in an
// output.
func (l Convolution) Make(m *Maker, in []int) (Network, []int, error) {
	o, kernel, out, err := l.fit(in)
	if err != nil {
		return nil, nil, err
	}
	l.Name = m.Name(l.Name, "convolution")
	shape := []int{l.Filters, in[0] / o.Groups, kernel[0], kernel[1]}
	if l.Transposed {
		shape = []int{in[0], l.Filters / o.Groups, kernel[0], kernel[1]}
	}
	c := convolution{options: o, transposed: l.Transposed, describes: l}
	fan := float64(in[0] / o.Groups * kernel[0] * kernel[1])
	c.w = m.Param(l.Name+".weight", Normal(math.Sqrt(2/fan)), shape...)
	if l.Bias {
		c.bias = m.Param(l.Name+".bias", Constant(0), l.Filters)
	}
	return c, out, nil
}
