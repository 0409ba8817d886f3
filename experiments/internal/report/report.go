package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-valla/valla/experiments/internal/result"
)

// Known is an experiment that exists, whether it was run or not.
type Known struct {
	Name, About string   // the name of the file, and what the experiment shows
	Rows        []string // the names of the rows of its tables, in their order
}

// Report holds the results of all experiments as they are shown.
type Report struct {
	Sections []Section // one for each experiment that has results
	NotRun   []Known   // the experiments without results
	Damaged  []string  // what is wrong with files that are no results; their cells count as missing
	Machines []Machine // on which cells were computed
	Memory   []string  // descriptions of how peaks of memory are measured

	merged    []experiment // the experiments with the cells of all profiles
	published bool         // there are published cells among them
}

// Cells returns the finished cells of an experiment, each with its results once.
func (r *Report) Cells(name string) []*result.Cell {
	for _, e := range r.merged {
		if e.Experiment == name {
			return e.cells
		}
	}
	return nil
}

// Missing returns what the published cells lack and why, nil if there are none.
func (r *Report) Missing() []Word {
	if !r.published {
		return nil
	}
	return missingWords()
}

// Machine is a machine and a program, with the number of cells that they computed.
type Machine struct {
	Name  string // the machine and the program, in words
	Cells int    // the number of cells that were computed there
}

// String names the machine and counts its cells.
func (m Machine) String() string {
	return fmt.Sprintf("%s: %s.", m.Name, result.Plural(m.Cells, "cell"))
}

// Section shows one experiment, with the cells of all its profiles.
type Section struct {
	ID, Name, About string        // the anchor of the page, the heading, and the text below it
	Profiles        []string      // the profiles that were run
	Done, Expected  int           // numbers of cells
	Commands        []string      // command lines that compute the cells
	Summary         []Table       // the measured scores of one kind on all data sets, where there are several
	Data            []DataSection // one for each data set
}

// DataSection shows one data set of an experiment.
type DataSection struct {
	Table   Table    // of scores
	Costs   Table    // of what the fits found and took
	Figures []Figure // the figures for which there are curves
	Note    string   // how the numbers differ from the paper, or ""
}

// notes explains differences from the paper, by data set.
var notes = map[string]string{
	"mnist": "Printed rows use probit probabilities. Columns “released” are means over the seeds of the runs that the paper’s authors released. " +
		"The Monte-Carlo samples of these runs have the covariance LᵀL instead of LLᵀ. The samples of this program have the covariance LLᵀ, so the MC numbers differ.",
	"airline": "Every printed CQM is too high by 0.05; the columns “corrected” are lower by 0.05.",
}

func init() {
	notes["fmnist"] = notes["mnist"] + " The printed NLL of VaLLA, 0.335 and 0.332, is a misprint: the released runs give 0.3547 and 0.3519."
	notes["year"], notes["taxi"] = notes["airline"], notes["airline"]
	for data := range paperNets {
		notes[data] = "Printed rows are means over samples (mc), except for MAP. There are released runs of MAP, VaLLA and FMGP only."
	}
}

// New collects the results below a folder, "" for none, and published cells, of which those count
// that the folder lacks. Known experiments without results are listed as not run.
func New(dir string, known []Known, published ...*result.Cell) (*Report, error) {
	r := &Report{published: len(published) > 0}
	var found []result.Found
	if dir != "" {
		var damaged []error
		var err error
		if found, damaged, err = result.ReadAll(dir); err != nil {
			return nil, err
		}
		for _, err := range damaged {
			r.Damaged = append(r.Damaged, err.Error())
		}
	}
	r.merged = merge(append(found, result.Group(published)...), known)
	for _, f := range r.merged {
		if err := r.add(f); err != nil {
			return nil, err
		}
	}
	for _, k := range known {
		if !slices.ContainsFunc(r.merged, func(f experiment) bool { return f.Experiment == k.Name }) {
			k.About = capital(k.About)
			r.NotRun = append(r.NotRun, k)
		}
	}
	return r, nil
}

// add adds the section of an experiment.
func (r *Report) add(f experiment) error {
	s := Section{ID: f.Experiment, Name: f.Experiment, Profiles: f.profiles, About: capital(f.About), Expected: len(f.Cells), Commands: f.Commands}
	for _, c := range f.Done {
		if c != nil {
			s.Done++
			r.machine(c)
		}
	}
	for _, data := range f.Data {
		scores, took := tables(f.Found, data)
		if len(scores.Rows) == 0 {
			continue
		}
		figures, err := figures(f.Found, data)
		if err != nil {
			return err
		}
		s.Data = append(s.Data, DataSection{scores, took, figures, notes[data]})
	}
	s.Summary = summaries(f.Found)
	r.Sections = append(r.Sections, s)
	return nil
}

// machine counts a cell for the machine that computed it.
func (r *Report) machine(c *result.Cell) {
	m := fmt.Sprintf("valla %s, %s, %s, %s, %s in use", c.Machine.Program, c.Machine.Go, c.Machine.Platform, c.Machine.CPU, result.Plural(c.Machine.Cores, "core"))
	i := slices.IndexFunc(r.Machines, func(o Machine) bool { return o.Name == m })
	if i < 0 {
		r.Machines, i = append(r.Machines, Machine{Name: m}), len(r.Machines)
	}
	r.Machines[i].Cells++
	r.Memory = result.Union(r.Memory, c.Machine.Memory)
}

// Write writes report.html and report.md to a folder, and the pictures of the latter to its
// folder figures. It returns the paths of the first two.
func (r *Report) Write(dir string) ([]string, error) {
	html, err := r.HTML()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	md, err := r.markdown(dir)
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(dir, "report.html"), filepath.Join(dir, "report.md")}
	for i, text := range [][]byte{html, []byte(md)} {
		if err := result.WriteFile(files[i], text); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// capital returns text as it begins a sentence.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
