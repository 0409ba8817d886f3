package bench_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/go-valla/valla/experiments/bench"
)

// The flags of the command say what Run measures. It refuses too few steps before it measures anything.
func ExampleCommand() {
	var c bench.Command
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	c.Flags(flags)
	if err := flags.Parse([]string{"--only", "^MAP step", "--steps", "1"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Run(context.Background(), os.Stdout, io.Discard))
	// Output: bad setting: --steps 1, expected 3 or more
}
