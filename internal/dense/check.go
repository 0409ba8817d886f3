package dense

import (
	"fmt"

	"gorgonia.org/tensor"
)

// CheckRows returns an error if x is not a plain array [N,…], N ≥ 1, of float32 or float64.
func CheckRows(x *tensor.Dense) error {
	switch {
	case x.Dtype() != tensor.Float32 && x.Dtype() != tensor.Float64:
		return fmt.Errorf("inputs are %v, expected float32 or float64", x.Dtype())
	case x.Dims() < 2 || x.Shape()[0] < 1:
		return fmt.Errorf("inputs of shape %v, expected [N,…] with N ≥ 1", x.Shape())
	case x.RequiresIterator() || x.DataOrder().IsColMajor():
		return fmt.Errorf("inputs of shape %v are not contiguous and row-major", x.Shape())
	}
	return nil
}
