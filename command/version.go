package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/kernel"
)

// build describes the program and what it runs on.
type build struct {
	Version  string `json:"version"`  // version of the program
	Go       string `json:"go"`       // version of Go
	Platform string `json:"platform"` // operating system and architecture
	Assembly string `json:"assembly"` // processor instructions in use, or none
	Threads  int    `json:"threads"`  // number of threads
}

func newVersion() *cobra.Command {
	var form asJSON
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what the program runs on",
		Long: `Print the version of the program, the version of Go that built it, the platform, the processor
instructions for which the loops in assembly are in use (none: the loops are plain Go), and the
number of threads. A report of a defect should have these lines.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			b := build{valla.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, kernel.Assembly(), runtime.GOMAXPROCS(0)}
			return form.print(cmd, b, fmt.Sprintf("valla     %s\ngo        %s\nplatform  %s\nassembly  %s\nthreads   %d\n", b.Version, b.Go, b.Platform, b.Assembly, b.Threads))
		}),
	}
	settingsFlags(cmd.Flags(), &form, "", nil)
	return cmd
}
