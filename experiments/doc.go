// Package experiments runs the paper's experiments: which data, which settings, which
// methods. An experiment is a YAML file (package spec), what it leaves are JSON files
// (package result), and package report shows them.
//
// A method is added as a file with its settings and its fit, and a line in the table
// methods; a data set as an entry of package sets, with a file here for a new kind; a form of
// network as an entry of networks.
package experiments

import "errors"

// ErrUnknown is wrapped where there is no experiment of a name.
var ErrUnknown = errors.New("unknown experiment")
