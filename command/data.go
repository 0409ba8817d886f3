package command

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data/sets"
)

func newData() *cobra.Command {
	return group("data", "List and download data sets", newDataList(), newDataGet())
}

func newDataList() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets and say which are complete",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			for _, s := range sets.All() {
				line, err := dataLine(s, folder)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return nil
		}),
	}
	dataFlag(cmd, &folder)
	return cmd
}

// dataLine returns a line about a data set, which says whether its files are below a folder.
func dataLine(s sets.Set, folder string) (string, error) {
	if s.BuiltIn() {
		return fmt.Sprintf("%-20s %s, %s; built in", s.Name, s.Title, s.Licence), nil
	}
	missing, err := s.Missing(s.Dir(folder))
	if err != nil {
		return "", err
	}
	state := "complete in " + s.Dir(folder)
	if len(missing) > 0 {
		state = fmt.Sprintf("%d of %d files missing in %s", len(missing), len(s.Files), s.Dir(folder))
	}
	size := "size not known"
	if n := s.Size(); n > 0 {
		size = fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%-20s %s, %s, %s; %s", s.Name, s.Title, size, s.Licence, state), nil
}

func newDataGet() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "get NAME...",
		Short: "Download data sets from their public mirrors",
		Long: `Download data sets, or groups of them such as uci, from their public mirrors. A download
that breaks off is continued. The size and the SHA-256 sum of every file are checked, and
files with the right content are not downloaded again. Files that their publishers change
without notice (year, taxi) have no known sum and are read to the end instead; at most 2 GiB
of them come, by HTTPS only. For a set
without a public address the error says which files to put into which folder. valla
experiment run looks for the sets in the same folder.`,
		Example: "  valla data get mnist fmnist\n  valla experiment run mnist",
		Args:    some("the name of a data set; valla data list names them"),
		RunE:    running(func(cmd *cobra.Command, args []string) error { return getData(cmd, folder, args) }),
	}
	dataFlag(cmd, &folder)
	return cmd
}

// getData downloads the sets with the given names.
func getData(cmd *cobra.Command, folder string, names []string) error {
	var all []sets.Set
	for _, name := range names {
		some, err := sets.Select(name)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	drawn := newDrawer(cmd.ErrOrStderr(), false)
	defer drawn.close()
	for _, s := range all {
		err := s.Get(cmd.Context(), folder, func(file string, done, total int64) {
			drawn.show(progress{label: filepath.Base(file), done: done, total: total, unit: "bytes"})
		})
		drawn.close()
		if err != nil {
			return err
		}
		if s.BuiltIn() {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is built in\n", s.Name)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is complete in %s\n", s.Name, s.Dir(folder))
	}
	return nil
}
