// Command outside is the command valla with a method, a layer, a form of network and an operator of ONNX models
// that the module of valla does not have.
package main

import (
	_ "example.com/outside/offset"
	_ "example.com/outside/parts"
	"github.com/go-valla/valla/command"
)

func main() { command.Main() }
