package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/pass"
)

// inParts has the flags of commands that go over data in parts.
type inParts struct {
	Workers int `set:"workers" auto:"one for each processor" min:"1" help:"number of parts to work on at once, each with a copy of the model"` // number of goroutines

	flag     string // name of the flag for the folder
	dir      string // folder of the shards; "" means no parts
	part     string // share K/N of this process; "" means all parts
	partSize memory // bytes of a part; 0 means the default
	shared   string // path of the shared library of ONNX Runtime; "" means where it usually is
}

// flags defines the flags. The flag with the given name and help names the folder of shards.
func (p *inParts) flags(cmd *cobra.Command, flag, help string) {
	p.flag = flag
	f := cmd.Flags()
	f.StringVar(&p.dir, flag, "", help)
	prefix := "with --" + flag + ": "
	f.StringVar(&p.part, "part", "", prefix+"do the share `K/N` of the parts, with K from 0 to N-1, in an array of N jobs; valla merge joins the results (default: all parts)")
	f.Var(&p.partSize, "part-size", prefix+"size of a part, such as 256MiB (default 64 MiB)")
	settingsFlags(f, p, prefix, nil)
}

// check returns an error if flags about parts are given without the folder.
func (p *inParts) check(cmd *cobra.Command) error {
	for _, name := range append(settings.Names(p), "part", "part-size") {
		if p.dir == "" && cmd.Flags().Changed(name) {
			return settings.Errorf("--%s goes with --%s", name, p.flag)
		}
	}
	return nil
}

// tables checks the arguments: one file, or several files if the data are read in parts.
func (p *inParts) tables(cmd *cobra.Command, args []string) error {
	if p.dir != "" && len(args) > 0 {
		return nil
	}
	return oneTable(cmd, args)
}

// share returns the numbers of the parts that this process does.
func (p *inParts) share(j *pass.Job) ([]int, error) {
	if p.part == "" {
		return j.Share(0, 1), nil
	}
	k, n, ok := strings.Cut(p.part, "/")
	worker, err := strconv.Atoi(k)
	workers, errN := strconv.Atoi(n)
	if !ok || err != nil || errN != nil || worker < 0 || worker >= workers {
		return nil, settings.Errorf("--part %s, expected K/N with K from 0 to N-1", p.part)
	}
	return j.Share(worker, workers), nil
}

// run does the share of a job. If the share is the whole job, run writes the manifest and returns it.
func (p *inParts) run(cmd *cobra.Command, o pass.Options, model string, paths []string, form asJSON) (*pass.Job, *pass.Manifest, error) {
	o.PartSize = int64(p.partSize)
	j, err := pass.New(o, model, paths...)
	if err != nil {
		return nil, nil, err
	}
	j.Library = p.shared
	parts, err := p.share(j)
	if err != nil {
		return nil, nil, err
	}
	r, err := j.NewRunner(p.dir)
	if err != nil {
		return nil, nil, err
	}
	d := newDrawer(cmd.ErrOrStderr(), form.JSON)
	records, err := r.Run(cmd.Context(), parts, p.Workers, func(done, all int, rows int64) {
		d.show(progress{label: string(o.Task), done: int64(done), total: int64(all), unit: "parts", text: fmt.Sprintf("%d rows", rows)})
	})
	d.close()
	if err != nil {
		return nil, nil, err
	}
	remark(cmd, records)
	if p.part != "" {
		return j, nil, p.report(cmd, j, records, form)
	}
	m, err := j.Finish(p.dir)
	return j, m, err
}

// remark prints the notes on the rows of all parts, each note once.
func remark(cmd *cobra.Command, records []*pass.Shard) {
	var notes []string
	for _, r := range records {
		for _, n := range r.Notes {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	const most = 20
	if len(notes) > most {
		notes = append(notes[:most], fmt.Sprintf("There are %d more notes in the records of the parts.", len(notes)-most))
	}
	printNotes(cmd, notes)
}

// report prints how many parts are finished.
func (p *inParts) report(cmd *cobra.Command, j *pass.Job, records []*pass.Shard, form asJSON) error {
	rows := int64(0)
	for _, r := range records {
		rows += r.Rows
	}
	return form.print(cmd, map[string]any{"parts": len(records), "of": j.Count, "rows": rows, "folder": p.dir},
		fmt.Sprintf("finished %d of %d parts with %d rows in %s\n", len(records), j.Count, rows, p.dir))
}

// predictParts is valla predict in parts.
func (c *predictCommand) predictParts(cmd *cobra.Command, paths []string) error {
	if c.parts.part != "" && c.out != "" {
		return settings.Errorf("--out %s with --part: valla merge joins the parts", c.out)
	}
	if err := checkCSV(cmd, paths); err != nil {
		return err
	}
	o := pass.Options{Task: pass.Predict, Header: c.Header, Level: c.Level, Link: task.Link(c.Link), Quantiles: c.Quantiles, Above: c.Above}
	if by, err := c.engine.runtime(); err != nil {
		return err
	} else if by != nil {
		o.Runtime, o.Provider, c.parts.shared = true, by.Provider, by.Library
	}
	j, m, err := c.parts.run(cmd, o, c.model, paths, c.asJSON)
	if err != nil || m == nil {
		return err
	}
	if c.out == "" {
		return c.parts.report(cmd, j, m.Shards, c.asJSON)
	}
	return concatenate(cmd, m, c.parts.dir, c.out, c.asJSON)
}

// concatenate writes the predictions of all parts to one file.
func concatenate(cmd *cobra.Command, m *pass.Manifest, dir, out string, form asJSON) error {
	err := atomicfile.Write(out, 0o644, func(w io.Writer) error { return m.Concatenate(w, dir) })
	if err != nil {
		return err
	}
	return form.print(cmd, map[string]any{"rows": m.Rows, "parts": len(m.Shards), "out": out},
		fmt.Sprintf("wrote %d predictions of %d parts to %s\n", m.Rows, len(m.Shards), out))
}

// mergeCommand is the command line of valla merge.
type mergeCommand struct {
	Seed uint64 `set:"seed" help:"of a fit: seed that divides the rows of --validation-data"`
	asJSON
	out            string // path of the predictions or the model
	validationData string // path of held-out rows; may be ""
}

func newMerge() *cobra.Command {
	c := &mergeCommand{}
	cmd := &cobra.Command{
		Use:   "merge FOLDER --out FILE",
		Short: "Join the parts of a pass",
		Long: `Join the shards that valla predict --parts or valla fit --passes has written to a folder, in one
process or in several processes with --part. Predictions become one .csv file, the same as without
--parts. The sums of a fit become a model. All parts must be finished. The order of the additions
depends on the numbers of the parts alone, so that the model does not depend on the number of
processes.`,
		Example: "  valla merge shards --out predictions.csv",
		Args:    one("one folder"),
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE` to write: .csv for predictions, a model for a fit")
	cmd.Flags().StringVar(&c.validationData, "validation-data", "", "with a fit: `FILE` of held-out rows that choose the standard deviations (default: the standard deviations of the fit to the sample)")
	settingsFlags(cmd.Flags(), c, "", nil)
	require(cmd, "out")
	return cmd
}

func (c *mergeCommand) run(cmd *cobra.Command, args []string) error {
	j, err := pass.Load(args[0])
	if err != nil {
		return err
	}
	inputs := []string{args[0], j.Model}
	for _, f := range j.Data {
		inputs = append(inputs, f.Path)
	}
	if j.Task == pass.Predict {
		err = checkCSV(cmd, inputs)
	} else {
		err = checkOut(cmd, "out", inputs)
	}
	if err != nil {
		return err
	}
	m, err := j.Finish(args[0])
	if err != nil {
		return err
	}
	if j.Task == pass.Predict {
		return concatenate(cmd, m, args[0], c.out, c.asJSON)
	}
	return c.model(cmd, j, m, args[0])
}

// model writes the model of the sums of a finished fit.
func (c *mergeCommand) model(cmd *cobra.Command, j *pass.Job, m *pass.Manifest, dir string) error {
	var held *data.Set
	if c.validationData != "" {
		of, err := valla.Load(j.Model)
		if err != nil {
			return err
		}
		if held, err = readFile(cmd, of, data.TableReader{Header: j.Header}, c.validationData, 0); err != nil {
			return err
		}
	}
	out, err := m.Model(cmd.Context(), j, dir, held, c.Seed)
	if err != nil {
		return err
	}
	w := work{out: c.out, asJSON: c.asJSON}
	return w.save(cmd, out, nil)
}

// onePass are the flags of valla fit that go with --passes.
var onePass = []string{"model", "out", "passes", "part", "part-size", "workers", "validation-data", "header", "seed", "json", "blas"}

// fitPasses is valla fit in parts.
func (c *fitCommand) fitPasses(cmd *cobra.Command, paths []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(onePass, f.Name) && err == nil {
			err = settings.Errorf("--%s with --passes: the posterior of --model has this setting already", f.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case c.passes.part == "" && c.out == "":
		return settings.Errorf("--passes without --part needs --out")
	case c.passes.part != "" && (c.out != "" || c.validationData != ""):
		return settings.Errorf("--out or --validation-data with --part: they go with valla merge")
	}
	if err := checkOut(cmd, "out", paths); err != nil {
		return err
	}
	j, m, err := c.passes.run(cmd, pass.Options{Task: pass.Fit, Header: c.header.Header}, c.model, paths, c.asJSON)
	if err != nil || m == nil {
		return err
	}
	merge := mergeCommand{Seed: c.Seed, asJSON: c.asJSON, out: c.out, validationData: c.validationData}
	return merge.model(cmd, j, m, c.passes.dir)
}
