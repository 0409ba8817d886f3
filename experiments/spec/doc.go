// Package spec reads what an experiment is: a YAML file with data sets, a network, its
// training, the rows of the table and the profiles, which are sets of changes to all that.
//
//	name: mnist
//	about: handwritten digits
//	data: [mnist]
//	seeds: [0, 1, 2]
//	network: {form: mlp, hidden: [200, 200], activation: tanh, dtype: float32}
//	map: {iterations: 20000, batch: 100, rate: 1e-3}
//	methods:
//	  - {method: map}
//	  - {method: valla, inducing: [100, 200], iterations: 40000}
//	profiles:
//	  full: {}
//	  quick:
//	    seeds: [0]
//	    override: {valla: {iterations: 2000}}
//
// Reading is strict: an unknown key, a value of another type or out of its range is an
// [Error] of one line that names file, line, key and what was expected. The settings of a
// method are structs of the method's own package, see [Settings]; ranges are tags of their
// fields:
//
//	Rate float64 `yaml:"rate" above:"0" max:"1"`
//	Optimizer string `yaml:"optimizer" choice:"adam natural"`
package spec
