// Package spec reads what an experiment is: a YAML file with data sets, a network, its
// training, the rows of a table and the profiles, which are sets of changes to all that.
//
//	name: mnist
//	about: handwritten digits
//	data: [mnist]
//	seeds: [0, 1, 2]
//	network: {form: mlp, hidden: [200, 200], activation: tanh, dtype: float32}
//	map: {iterations: 20000, learning-rate: 1e-3}
//	methods:
//	  - {method: map}
//	  - {method: valla, inducing: [100, 200], profiles: {quick: {iterations: 500}}}
//	profiles:
//	  full: {}
//	  quick: {seeds: [0]}
//
// The keys of network are the settings of valla.Network, those of map valla.Training's, and
// those of a row of methods the settings of that method, as on the command line. A list of
// values for a setting that takes one stands for a row with each of them.
//
// Reading is strict: an unknown key, a value of another type or out of its range is an
// [Error] of one line that names file, line, key and what was expected.
package spec
