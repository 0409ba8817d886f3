package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data/fetch"
	"github.com/go-valla/valla/data/tabular"
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
			for _, d := range allData() {
				line, err := dataLine(d, folderOf(dir, d))
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return nil
		}),
	}
	dirFlag(cmd, &dir)
	return cmd
}

// allData returns the data sets that can be downloaded, and those of which is known
// what to put where.
func allData() []fetch.Dataset { return append(fetch.Datasets(), tabular.Downloads()...) }

// dataLine returns a line about a data set and whether it is in a folder.
func dataLine(d fetch.Dataset, folder string) (string, error) {
	missing, err := d.Missing(folder)
	if err != nil {
		return "", err
	}
	state := "complete in " + folder
	if len(missing) > 0 {
		state = fmt.Sprintf("%d of %d files missing in %s", len(missing), len(d.Files), folder)
	}
	size := "size not known"
	if n := d.Size(); n > 0 {
		size = fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%-20s %s, %s, %s; %s", d.Name, d.Title, size, d.Licence, state), nil
}

func newDataGet() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "get NAME...",
		Short: "Download data sets from their public mirrors",
		Long: `Download data sets from their public mirrors. What breaks off is continued, every file's
size and SHA-256 sum are checked, and files that are already there and right are kept.
Files that their publishers change without notice (year, taxi) have no sum: they are
read to the end instead. For a set without a public address the error says what to put
where.`,
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
				if sets[i], err = fetch.Lookup(allData(), name); err != nil {
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
	if s, err := tabular.Lookup(d.Name); err == nil {
		return filepath.Join(dir, s.Folder)
	}
	return filepath.Join(dir, experiments.DataFolder(d.Name))
}
