package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
)

// columnFlags are the flags whose values are columns of the table that a command reads.
var columnFlags = []string{"target", "drop", "id", "categorical", "numeric"}

// arguments complete the arguments of commands, by their paths.
var arguments = map[string]cobra.CompletionFunc{
	"valla method show":     names(method.Names),
	"valla likelihood show": names(likelihood.Names),
	"valla experiment run":  names(experimentNames),
	"valla data get":        names(setNames),
}

// complete makes the commands complete the values of their flags and arguments in a shell, for
// which cobra's command completion prints a script.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completionOf(f); complete != nil {
			if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
				panic(err) // the flag exists, and nothing else completes it
			}
		}
	})
	if complete, ok := arguments[cmd.CommandPath()]; ok {
		cmd.ValidArgsFunction = complete
	}
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

// completionOf returns what completes the values of a flag; nil leaves it to the shell, which
// completes the names of files.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	if slices.Contains(columnFlags, f.Name) {
		return columnNames
	}
	if f.Name == "methods" {
		return oneOfList(compare.Names)
	}
	if s, ok := f.Value.(setting); ok && len(s.Choices) > 0 {
		return cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp)
	}
	switch name, _ := pflag.UnquoteUsage(f); {
	case f.Name == "model":
		return endings("valla")
	case f.Name == "network":
		return endings("onnx")
	case f.Name == "net-weights":
		return endings("npz", "safetensors", "pt", "pth")
	case f.Name == "method" && name == "NAME":
		return names(method.Names)
	case f.Name == "likelihood":
		return names(likelihood.Names)
	case f.Name == "blas":
		return names(func() []string { return []string{"valla", "openblas"} })
	}
	return nil
}

// names returns a function that completes a name of the list.
func names(list func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list(), cobra.ShellCompDirectiveNoFileComp
	}
}

// oneOfList completes a list with commas.
func oneOfList(list func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return following(typed, list()), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// following puts what is typed of a list, up to the last comma, before each name.
func following(typed string, names []string) []string {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var list []string
	for _, n := range names {
		list = append(list, before+n)
	}
	return list
}

// endings returns a function that completes the names of files with an ending of the list.
func endings(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveFilterFileExt)
}

// columnNames completes a list, with commas, of columns of the table that is the argument.
func columnNames(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 || args[0] == data.Stdin {
		return nil, directive
	}
	s, err := data.TableReader{}.Open(args[0])
	if err != nil {
		return nil, directive
	}
	defer s.Close()
	return following(typed, s.Columns), directive
}

func experimentNames() []string {
	list, _ := experiments.List() // after an error there is nothing to complete
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

func setNames() []string {
	var out []string
	for _, s := range sets.All() {
		out = append(out, s.Name)
	}
	return out
}
