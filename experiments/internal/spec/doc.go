// Package spec reads the description of an experiment. It is a YAML file that names data
// sets, describes a network and its training, and lists the rows of a table. A profile is a
// set of changes to the description.
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
// The keys of network are the settings of valla.Network, and the keys of map are the settings of
// valla.Training. The keys of a row of methods are the settings of its method, with the names
// that the command line uses. If a setting takes one value and the file gives a list, the
// table has a row for each value. Every row of a table has its own label. The default is the label of
// its method. A file without profiles has one, called full.
//
// The key law of a row is the law of its residuals in a regression: gaussian, student-t, mixture, or auto, which
// means that the held-out rows choose the law. The default is gaussian, the model of the paper.
//
// Reading is strict. An unknown key and a value of another type or out of its range are
// errors. Such an [Error] is one line with the file, the line, the key, and what was expected
// and found.
package spec
