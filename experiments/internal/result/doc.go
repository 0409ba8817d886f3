// Package result is what experiments leave on disk: a JSON file for each cell of each
// table, and for each experiment a plan that says which cells there are to be.
//
//	DIR/EXPERIMENT/PROFILE/plan.json
//	DIR/EXPERIMENT/PROFILE/cells/DATA-ROW-m100-seed0-0123456789ab.json
//
// A cell's name ends in a hash of the settings that it is a function of, so that a cell
// whose file is there is finished, and changed settings make another file.
package result
