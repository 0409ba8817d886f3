// Package result keeps the results of experiments on disk. Each cell of each table is a JSON
// file. Each experiment has a plan, which lists the cells that there are to be.
//
//	DIR/EXPERIMENT/PROFILE/plan.json
//	DIR/EXPERIMENT/PROFILE/cells/DATA-ROW-m100-seed0-0123456789ab.json
//
// The name of a cell ends in a hash of the settings on which the cell depends. A cell is
// finished if its file exists, and a cell with changed settings is another file.
package result
