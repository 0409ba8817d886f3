// Command valla puts error bars on neural networks. It trains a network on a table or on
// images, or reads one that was trained elsewhere. It fits a posterior to the network and
// predicts with standard deviations or class probabilities.
//
//	valla train houses.csv --target price --out map.valla
//	valla fit houses.csv --model map.valla --out houses.valla
//	valla update more.csv --model houses.valla --out houses2.valla
//	valla calibrate held.csv --model houses.valla --out calibrated.valla
//	valla compare houses.csv --model houses.valla
//	valla predict new.csv --model houses.valla
//	valla eval test.csv --model houses.valla
//	valla report test.csv --model houses.valla --out report.html
//	valla serve --model houses.valla
//	valla method list
//
// The exit code is 0 for success, 1 after an error, 2 for wrong usage and 130 if Ctrl-C ended
// a run. A crash of the program, which is a defect, aborts with the signal SIGABRT (exit code
// 134 in a shell) after the stacks of the program. An error is one line on stderr, or with --json
// one JSON object with the keys error and code.
package main

import "github.com/go-valla/valla/command"

func main() { command.Main() }
