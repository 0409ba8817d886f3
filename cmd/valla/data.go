package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data/fetch"
	"github.com/go-valla/valla/experiments"
)

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List and download data sets",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newDataList(), newDataGet())
	return cmd
}

func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "data", "`FOLDER` that holds a folder for each data set")
}

func newDataList() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets, and which are there",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			for _, d := range fetch.Datasets() {
				missing, err := d.Missing(folderOf(dir, d))
				if err != nil {
					return err
				}
				state := "complete in " + folderOf(dir, d)
				if len(missing) > 0 {
					state = fmt.Sprintf("%d of %d files missing in %s", len(missing), len(d.Files), folderOf(dir, d))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s, %.0f MB, %s; %s\n", d.Name, d.Title, float64(d.Size())/1e6, d.Licence, state)
			}
			return nil
		}),
	}
	dirFlag(cmd, &dir)
	return cmd
}

func newDataGet() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "get NAME...",
		Short: "Download data sets from their public mirrors",
		Long: `Download data sets from their public mirrors. What breaks off is continued, every file's
size and SHA-256 sum are checked, and files that are already there and right are kept.`,
		Example: "  valla data get mnist fmnist\n  valla experiment run mnist --data data",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("expected the name of a data set; valla data list names them")
			}
			return nil
		},
		RunE: running(func(cmd *cobra.Command, args []string) error {
			sets := make([]fetch.Dataset, len(args))
			for i, name := range args {
				var err error
				if sets[i], err = fetch.Lookup(name); err != nil {
					return err
				}
			}
			for _, d := range sets {
				to := folderOf(dir, d)
				if err := fetch.Get(cmd.Context(), d, fetch.Options{Dir: to, Progress: cmd.ErrOrStderr()}); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is complete in %s\n", d.Name, to)
			}
			return nil
		}),
	}
	dirFlag(cmd, &dir)
	return cmd
}

// folderOf is where the experiments look for a data set.
func folderOf(dir string, d fetch.Dataset) string {
	return filepath.Join(dir, experiments.DataFolder(d.Name))
}
