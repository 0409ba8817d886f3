// Command release makes what a release has beside the archives of goreleaser: wheels of the Python package, manual
// pages, completions and the licences of all modules. It also checks what a release needs. docs/releasing.md has the
// commands. Run in the root of a checkout:
//
//	go run ./internal/release check
//	go run ./internal/release files --out .release
//	go run ./internal/release wheel --out dist
//	go run ./internal/release api
//	go run ./internal/release same FOLDER FOLDER
//
// What it makes depends on the commit alone, and is equal byte for byte in two runs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := newRoot()
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{Use: "release", Short: "Make and check what a release has", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newCheck(), newFiles(), newWheel(), newAPI(), newSame())
	return root
}

func newCheck() *cobra.Command {
	var without bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Fail unless a release may be made: there is a file LICENSE",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := licensed(".", without)
			fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&without, "without-license", os.Getenv(withoutVariable) != "", "allow a release without a file LICENSE (default: the variable "+withoutVariable+" is set)")
	return cmd
}

func newFiles() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "files",
		Short: "Write manual pages, completions and licences into a folder, in place of all that it has",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeFiles(cmd.Context(), out)
		},
	}
	cmd.Flags().StringVar(&out, "out", ".release", "`FOLDER` to write")
	return cmd
}

func newAPI() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Compare the exported names with those of the last tag",
		Long: `Compare the exported names of all packages outside internal folders with those of the last tag, by
golang.org/x/exp/cmd/apidiff. Incompatible changes are an error from version 1 on. Where there is no tag, there is nothing to
compare, and the command says so.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := compareAPI(cmd.Context(), ".")
			fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}

func newSame() *cobra.Command {
	return &cobra.Command{
		Use:   "same FOLDER FOLDER",
		Short: "Compare the archives, wheels and checksums in two folders byte for byte",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := same(args[0], args[1])
			fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}
