package command

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/go-valla/valla"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a folder",
		Long: `Write a manual page for each command into a folder, such as share/man/man1 below a folder of
MANPATH; "man valla-fit" shows one.`,
		Example: "  valla man ~/.local/share/man/man1",
		Args:    one("one folder"),
		RunE: running(func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // pages do not change from day to day
			header := &doc.GenManHeader{Title: "VALLA", Section: "1", Source: "valla " + valla.Version(), Manual: "valla"}
			if day, err := time.Parse(time.RFC3339, valla.CurrentBuild().Date); err == nil {
				header.Date = &day
			}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote manual pages to %s\n", args[0])
			return err
		}),
	}
}
