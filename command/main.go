// Package command is the command valla as a package. A program of another module that imports this
// package and calls [Main] is the command with all that the program registers besides: methods, layers,
// forms of networks and operators of ONNX models.
//
// The flags of networks, trainings and methods are made from the tags of their settings (see
// package internal/settings). A new method in the table of package gp/method needs no change
// in this package.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/openblas"
	"github.com/go-valla/valla/internal/settings"
)

// Main runs the command with the arguments of the process and exits. The exit code is 0 for success, 1
// after an error, 2 for wrong usage, 3 and 4 for rules of valla report that fail or cannot be told, and 130 if an interrupt ended the run.
func Main() {
	debug.SetTraceback("crash") // a crash aborts: the exit code 2 of a plain one means wrong usage
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes a command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	root := newRoot(args)
	root.SetArgs(args)
	out := &output{to: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if full := out.failed(); full != nil && !errors.As(err, new(failure)) { // not every command looks at what its lines return
		err = failure{fmt.Errorf("the standard output: %w", full)}
	}
	if err == nil {
		return 0
	}
	text, code := explain(cmd, err)
	complain(stderr, shorten(strings.ReplaceAll(flagged(text), "\n", "; ")), code, wantsJSON(args))
	return code
}

// output is the standard output, and remembers its first error.
type output struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
	return n, err
}

// failed returns the first error of Write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// complain prints the message of an error: one line, or with --json one JSON object.
func complain(w io.Writer, text string, code int, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "valla: %s\n", text)
		return
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any{"error": text, "code": code}) // as for the line, nothing is left to do
}

// wantsJSON says whether the arguments ask for JSON. The arguments need not be valid.
func wantsJSON(args []string) bool {
	for _, a := range args {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--json"); ok {
			on, err := strconv.ParseBool(strings.TrimPrefix(v, "="))
			return v == "" || err == nil && on
		}
	}
	return false
}

// longest is the largest length of an error's text in bytes. Longer texts quote data, such as a large
// cell of a table.
const longest = 1000

// shorten returns a text of at most longest bytes, without the middle of a longer text.
func shorten(text string) string {
	if len(text) <= longest {
		return text
	}
	const part = longest/2 - 40
	cut := len(text) - 2*part
	return strings.ToValidUTF8(fmt.Sprintf("%s … (%d bytes left out) … %s", text[:part], cut, text[len(text)-part:]), "")
}

// newRoot returns the command with all its subcommands. The arguments choose the method for the flags
// of valla fit and the observation model for the flags of valla train.
func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "valla",
		Short: "Error bars for neural networks",
		Long: `Error bars for neural networks that are already trained, by the variational linearized
Laplace approximation (VaLLA) and other methods.`,
		Version:       valla.Version(),
		SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true, // they take several lines
	}
	blas := root.PersistentFlags().String("blas", "valla", "`NAME` of the code that multiplies matrices: valla, openblas, or the file of a shared OpenBLAS")
	root.PersistentPreRunE = running(func(*cobra.Command, []string) error { return useBLAS(*blas) })
	root.SetHelpCommand(newHelp())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.AddCommand(newDemo(), newBench(), newTrain(args), newFit(args), newFeatures(args), newUpdate(), newCalibrate(), newCompare(), newPredict(), newAcquire(), newExport(), newMerge(), newEval(), newReportPage(), newServe(), newMethod(), newLikelihood(), newNetwork(), newExperiment(), newData(), newVersion(), newDoctor(), newMan())
	complete(root)
	for _, cmd := range root.Commands() {
		cmd.Flags().SortFlags = false // related flags stand together
	}
	return root
}

// helpWidth is the width of the lines that describe flags.
const helpWidth = 100

// useBLAS chooses the code that multiplies matrices, by its name or by the file of a library. For the
// name openblas the loader of the system finds the library.
func useBLAS(name string) error {
	switch name {
	case "", "valla":
		return nil
	case "openblas":
		name = ""
	}
	if err := openblas.Load(name); err != nil {
		return fmt.Errorf("--blas: %w", err)
	}
	return nil
}

// newHelp returns the command help. Unlike cobra's own, it fails for an unknown command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			return of.Help()
		},
	}
}

// group returns a command that has other commands and does nothing itself.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// oneTable returns an error unless the argument is one file of data.
var oneTable = one("one file of data")

// one returns a check that there is a single argument. The words what name the argument.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("expected %s, found %d arguments", what, len(args))
		}
		return nil
	}
}

// some returns a check that there are arguments. The words what name an argument.
func some(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("expected " + what)
		}
		return nil
	}
}

// failure is an error of a command that has run. Other errors are errors of usage.
type failure struct {
	error // error of the command
}

// Unwrap returns the error of the command.
func (f failure) Unwrap() error { return f.error }

// running returns f with its errors turned into failures.
func running(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			return failure{err}
		}
		return nil
	}
}

// interruption is the error of an interrupted run: a sentence about what the run has written.
type interruption string

// Error implements error.
func (i interruption) Error() string { return string(i) }

// withFlag returns the text of an error about a setting for users of cmd. Packages name the setting;
// withFlag names the flag, if cmd has one.
func withFlag(cmd *cobra.Command, text string) string {
	before, about, found := strings.Cut(text, valla.ErrSetting.Error()+": ")
	name, _, named := strings.Cut(about, ": ")
	if !found || !named || cmd.Flags().Lookup(name) == nil {
		return text
	}
	return before + valla.ErrSetting.Error() + ": --" + about
}

// meant returns the end of an error about an unknown flag or command: the name that was meant, if one is near.
func meant(cmd *cobra.Command, err error) string {
	var flag *pflag.NotExistError
	if errors.As(err, &flag) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return settings.Nearest("--"+flag.GetSpecifiedName(), names)
	}
	_, after, unknown := strings.Cut(err.Error(), "unknown command \"")
	name, _, _ := strings.Cut(after, "\"")
	if !unknown {
		return ""
	}
	if !cmd.HasSubCommands() {
		cmd = cmd.Root() // of valla help
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return settings.Nearest(name, names)
}

// explain returns the message of an error and the exit code.
func explain(cmd *cobra.Command, err error) (string, int) {
	switch {
	case errors.As(err, new(interruption)):
		return err.Error(), 130
	case errors.As(err, new(decision)):
		var d decision
		errors.As(err, &d)
		return d.text, d.code
	case errors.Is(err, context.Canceled):
		return "interrupted", 130
	case !errors.As(err, new(failure)) || errors.Is(err, valla.ErrSetting):
		return fmt.Sprintf("%s%s (see %s --help)", withFlag(cmd, err.Error()), meant(cmd, err), cmd.CommandPath()), 2
	default:
		return err.Error(), 1
	}
}
