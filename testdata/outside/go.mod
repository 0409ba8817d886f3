module example.com/outside

go 1.26.0

require (
	github.com/go-valla/valla v0.0.0
	gonum.org/v1/gonum v0.17.0
	gorgonia.org/tensor v0.9.24
)

replace github.com/go-valla/valla => ../..
