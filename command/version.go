package command

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/kernel"
)

// build describes the program and what it runs on.
type build struct {
	valla.Build
	Go       string `json:"go"`       // version of Go
	Platform string `json:"platform"` // operating system and architecture
	Assembly string `json:"assembly"` // processor instructions in use, or none
	Threads  int    `json:"threads"`  // number of threads
}

// text returns a line for each fact that is known.
func (b build) text() string {
	commit := b.Commit
	if b.Modified {
		commit += ", with changes"
	}
	text := ""
	for _, line := range [][2]string{{"valla", b.Version}, {"commit", commit}, {"date", b.Date}, {"go", b.Go}, {"platform", b.Platform}, {"assembly", b.Assembly}, {"threads", fmt.Sprint(b.Threads)}} {
		if line[1] != "" {
			text += fmt.Sprintf("%-9s %s\n", line[0], line[1])
		}
	}
	return text
}

func newVersion() *cobra.Command {
	var form asJSON
	var engines bool
	var library string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what the program runs on",
		Long: `Print the version of the program, the commit that it was built from and the commit's date where
they are known, the version of Go that built it, the platform, the processor instructions for which the
loops in assembly are in use (none: the loops are plain Go), and the number of threads. A report of a
defect should have these lines. valla doctor checks whether all works on this machine.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			if engines {
				return printEngines(cmd, form, library)
			}
			b := build{valla.CurrentBuild(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, kernel.Assembly(), runtime.GOMAXPROCS(0)}
			return form.print(cmd, b, b.text())
		}),
	}
	cmd.Flags().BoolVar(&engines, "engines", false, "list what computes predictions here")
	cmd.Flags().StringVar(&library, "onnxruntime", "", "`PATH` of the library of ONNX Runtime, for --engines (default: VALLA_ONNXRUNTIME, or where the system finds it)")
	settingsFlags(cmd.Flags(), &form, "", nil)
	return cmd
}

// listedEngine is a line of valla version --engines.
type listedEngine struct {
	Name      string   `json:"name"`                // for --engine
	Version   string   `json:"version,omitempty"`   // of the library
	Providers []string `json:"providers,omitempty"` // processors, for --provider
	Missing   string   `json:"missing,omitempty"`   // why it does not work here
}

// printEngines prints what computes predictions here.
func printEngines(cmd *cobra.Command, form asJSON, library string) error {
	other := listedEngine{Name: runtimeEngine}
	var err error
	if other.Version, other.Providers, err = valla.RuntimeProviders(library); err != nil {
		other.Missing = err.Error()
	}
	all := []listedEngine{{Name: ownEngine, Version: valla.Version(), Providers: []string{"cpu"}}, other}
	text := ""
	for _, e := range all {
		if text += e.Name + " " + e.Version + ": " + strings.Join(e.Providers, ", ") + "\n"; e.Missing != "" {
			text = strings.TrimSuffix(text, " : \n") + ": " + e.Missing + "\n"
		}
	}
	return form.print(cmd, map[string]any{"engines": all}, text)
}
