package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var (
	_ gp.Estimator = (*Settings)(nil)
	_ gp.Abridged  = (*Settings)(nil)
)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	if err := p.Check(); err != nil {
		return gp.Estimate{}, err
	}
	f, start := &fitting{r: r}, time.Now()
	var err error
	if f.s, f.p, f.weightNotes, err = s.resolve(ctx, p, r); err != nil {
		return gp.Estimate{}, err
	}
	if err := ctx.Err(); err != nil {
		return gp.Estimate{}, err
	}
	choice := time.Since(start).Seconds()
	plan, err := f.plan()
	if err == nil {
		plan.Seconds(choice)
	}
	e, err := plan.Estimate(err)
	if err == nil {
		f.longer(ctx, s, p, &e)
	}
	if err == nil && e.Seconds > gp.Long {
		f.cheaper(ctx, s, p, &e)
	}
	return e, cmp.Or(err, ctx.Err())
}

// What a fit of the last layer has less of than usual, and the setting of a fit of all weights.
const (
	fewerWeights = "uncertain weights of the last layer alone"
	allWeights   = "weights=" + layers.AllWeights
)

// LastLayerAlone implements gp.Abridged.
func (s *Settings) LastLayerAlone(ctx context.Context, p gp.Problem, r gp.Run) (alone bool, e gp.Estimate) {
	full, _, _, err := s.resolve(ctx, p, r)
	if err != nil || !s.lastLayerBy(full) {
		return false, e
	}
	all := *s
	all.Weights = []string{layers.AllWeights}
	longer, _ := all.Estimate(ctx, p, r) // 0 s where there is not enough memory
	return true, gp.Estimate{With: fewerWeights, Longer: allWeights, LongerSeconds: longer.Seconds}
}

// lastLayerBy reports whether the settings leave the weights open, and full, which completes them, has the last layer's.
func (s *Settings) lastLayerBy(full Settings) bool {
	return s.Weights == nil && slices.Equal(full.Weights, []string{layers.LastLayerWeights})
}

// longer says in an estimate what the settings f.s, which complete the settings s for the problem p, have less of than
// usual, and names the usual choice.
func (f *fitting) longer(ctx context.Context, s *Settings, p gp.Problem, e *gp.Estimate) {
	if f.s.Optimizer != optimizerNatural {
		return
	}
	long := *s
	var with, names []string
	say := func(short, name string) { with, names = append(with, short), append(names, name) }
	if s.lastLayerBy(f.s) {
		long.Weights = []string{layers.AllWeights}
		say(fewerWeights, allWeights)
	}
	if s.Inducing == 0 && f.s.Inducing < usualInducing {
		long.Inducing = usualInducing
		say(fmt.Sprintf("%d inducing points", f.s.Inducing), fmt.Sprintf("inducing=%d", usualInducing))
	}
	_, steps := usualSteps(p, s.BatchSize)
	if f.s.Iterations < steps && s.Iterations == 0 {
		long.Iterations = steps
		short := fmt.Sprintf("%d steps", f.s.Iterations)
		if f.s.FixInducing && !s.FixInducing {
			short += " of inducing points that rest"
		}
		say(short, fmt.Sprintf("iterations=%d", steps))
	}
	if with == nil {
		return
	}
	e.With, e.Longer = listed(with), strings.Join(names, " ")
	of := &fitting{r: f.r}
	var err error
	if of.s, of.p, _, err = long.resolve(ctx, p, f.r); err != nil {
		return
	}
	if plan, err := of.plan(); err == nil {
		cost, _ := plan.Estimate(nil)
		e.LongerSeconds = cost.Seconds
	}
}

// listed joins phrases as a, b and c.
func listed(phrases []string) string {
	last := len(phrases) - 1
	if last == 0 {
		return phrases[0]
	}
	return strings.Join(phrases[:last], ", ") + " and " + phrases[last]
}

// cheaper names a cheaper choice than the settings s for the problem p in an estimate: natural gradients in place of
// Adam, the last layer in place of all weights, which takes half of the time at most, or the fewest steps.
func (f *fitting) cheaper(ctx context.Context, s *Settings, p gp.Problem, e *gp.Estimate) {
	switch {
	case f.s.Optimizer != optimizerNatural:
		e.Cheaper = "optimizer=" + optimizerNatural + ", which needs fewer steps,"
		return
	case f.s.Iterations > fewest(p) && e.Longer == "":
		few := *f
		few.s.Iterations, few.s.ValidateEvery = fewest(p), fewest(p)/costlyValidations
		if plan, err := few.plan(); err == nil {
			cost, _ := plan.Estimate(nil)
			e.Cheaper, e.CheaperSeconds = fmt.Sprintf("iterations=%d", fewest(p)), cost.Seconds
		}
	}
	all := f.s.Weights == nil || slices.Equal(f.s.Weights, []string{layers.AllWeights})
	if !all || len(layers.ByLayer(p.Net)) < 2 {
		return
	}
	last := *s
	last.Weights = []string{layers.LastLayerWeights}
	if cost, err := last.Estimate(ctx, p, f.r); err == nil && cost.Seconds < e.Seconds/2 {
		e.Cheaper, e.CheaperSeconds = "weights="+layers.LastLayerWeights, cost.Seconds
	}
}

// plan counts the fit. The inducing inputs of the plan are arrays that nothing is written to, which take no memory.
func (f *fitting) plan() (*gp.Plan, error) {
	of := *f
	of.lik, of.loop = steps.Start(f.p, f.s.NoiseStd), f.s.loop()
	var err error
	if of.still, err = still(of.p); err != nil {
		return nil, err
	}
	of.s.FixInducing = of.s.FixInducing || of.still
	class := of.points()
	z := tensor.New(tensor.Of(f.p.Dtype()), tensor.WithShape(append([]int{len(class)}, f.p.Train.X.Shape()[1:]...)...))
	m, c := len(class), f.p.Outputs()
	plan, err := firstPlan(m, f.r)
	if err != nil {
		return nil, err
	}
	kept := plan.Held()
	if of.layer, err = NewLayer(jacobian.NTK{Net: f.p.Net}, z, class); err != nil {
		return nil, err
	}
	if of.share, err = of.rowShare(); err != nil {
		return nil, err
	}
	of.post, of.likeliest = newPosterior(f.p.Net, of.layer), gp.FewClasses(f.s.Likeliest, c)
	if f.s.Optimizer == optimizerNatural {
		err = of.planNatural(plan)
	} else {
		err = of.planAdam(plan)
	}
	if err != nil {
		return nil, err
	}
	plan.Release(plan.Held() - kept) // the programs of the steps
	first, fixed, err := of.planRow(plan.Prediction(), m, c)
	plan.Run(first, 1)
	plan.Hold(fixed)
	if of.splits() {
		plan.Beyond(plan.Prediction(), float64(min(f.p.Train.N(), maxSplit)))
	}
	return plan, err
}

// rowShare returns the share of the multiplications of full products that products of rows of k̂ take, see sparseProduct: they
// pass over zeros where the outputs have no uncertain weight in common, as one input of two outputs tells. Of large networks, which
// have such weights before the last layer, a plan does not take the memory.
func (f *fitting) rowShare() (float64, error) {
	c := f.p.Outputs()
	if float64(c)*sparseShare < 1 {
		return 1, nil
	}
	b := wideBuilder()
	x := b.Param(&graph.Param{Name: "x", Value: data.TakeRows(f.p.Train.X, []int{0, 0})})
	gram := f.layer.Kernel.Gram(b, x, []int{0, 1})
	cost, err := graph.CostOf(b, []*graph.Node{gram}, graph.Options{})
	if err != nil || cost.Bytes > f.r.Limit()/16 {
		return 1, err
	}
	values, err := graph.Evaluate(b, gram)
	if err != nil || values[0][1] != 0 {
		return 1, err
	}
	return min(1, axpyTime/float64(c)), nil
}

// axpyTime is how much longer a plan takes a multiplication to be in sums of rows than in products of matrices. It is 5.9 times with
// 1,000 inducing points (BenchmarkSparse, one core of a Zen 5); a larger matrix leaves the cache.
const axpyTime = 8

// firstPlan counts the matrices of m inducing points.
func firstPlan(m int, r gp.Run) (*gp.Plan, error) {
	plan := &gp.Plan{What: fmt.Sprintf("valla: a fit with %d inducing points", m)}
	plan.Hold(gp.Numbers(4, m, m))
	return plan, plan.Check(r.Limit())
}

// planAdam counts the steps of Adam, with a validation after some of them.
func (f *fitting) planAdam(plan *gp.Plan) error {
	if err := f.steps().Plan(plan); err != nil {
		return err
	}
	if v := f.p.Validation; v != nil {
		var row gp.Plan
		first, _, err := f.planRow(&row, f.layer.Inducing(), f.p.Outputs())
		if err != nil {
			return err
		}
		plan.Run(first, float64(f.s.Iterations/max(1, f.s.ValidateEvery)))
		plan.Times(&row, v.N()*(f.s.Iterations/max(1, f.s.ValidateEvery)))
		plan.Beside(gp.Numbers(v.N(), f.p.Outputs(), f.p.Outputs()))
	}
	return plan.Check(f.r.Limit())
}

// planRow counts the prediction of an input. What predictions take however many inputs they are for, mostly the Jacobian
// at Z, is not in it: planRow returns the work of their first run, and the bytes.
func (f *fitting) planRow(row *gp.Plan, m, c int) (first graph.Cost, fixed int64, err error) {
	size, cost, err := gp.PredictionCost("valla: a prediction", f.r.Limit(), f.evaluations(f.likeliest, f.alone()))
	if err != nil {
		return first, 0, err
	}
	each := cost.Bytes / int64(size)
	if size > 1 {
		_, one, err := f.evaluated(1, f.alone())
		if err != nil {
			return first, 0, err
		}
		each = (cost.Bytes - one.Bytes) / int64(size-1)
		fixed = max(0, one.Bytes-each)
	}
	perRun := cost
	perRun.Once = graph.Work{}
	row.Run(perRun, 1/float64(size))
	covariances, derived := gp.Covariances(f.p.Likelihood, c), cmp.Or(f.likeliest, c)
	row.Hold(each + gp.Numbers(c, covariances) + gp.Numbers(derived, 2*m))
	row.Products(float64(derived) * float64(m) * (f.share*float64(m) + float64(min(covariances, derived))) / 2)
	return graph.Cost{Once: cost.Once, Single: cost.Single}, fixed, nil
}

// evaluated writes the network, the kernel's own covariances (variances alone if marginal says so) and the kernel with Z for so
// many inputs.
func (f *fitting) evaluated(size int, marginal bool) (int, graph.Cost, error) {
	return graph.CostWithin("valla: a prediction", size, f.r.Limit(), f.evaluations(f.likeliest, marginal))
}

// alone reports whether predictions of the fit have variances alone.
func (f *fitting) alone() bool { return gp.Covariances(f.p.Likelihood, f.p.Outputs()) < f.p.Outputs() }

// evaluations returns a function that writes the network and what [Layer.kernels] writes for so many inputs.
func (f *fitting) evaluations(likeliest int, marginal bool) func(size int) (graph.Pass, error) {
	return func(size int) (graph.Pass, error) {
		z := f.layer.Z.Value
		b := graph.NewBuilder(z.Dtype())
		x := b.Input("x", append([]int{size}, z.Shape()[1:]...)...)
		mean := f.p.Net.Forward(b, x)
		nodes, _ := f.layer.kernels(likeliest, b, x, mean, marginal)
		return graph.Pass{Builder: b, X: x, Outputs: append([]*graph.Node{mean}, nodes...)}, b.Err()
	}
}

// planNatural counts the steps of natural gradients and their validations.
func (f *fitting) planNatural(plan *gp.Plan) error {
	n := &natural{fitting: f, memory: (f.r.Limit() + 1) / 2, alpha: *f.s.Alpha, dt: f.p.Dtype(), outputs: f.p.Outputs(), width: f.p.Likelihood.Width()}
	each := n.outputs
	if f.s.BatchSize < f.p.Train.N() {
		n.picks = n.newPicks(fewOutputs)
	}
	if n.picks != nil {
		each = n.picks.each
	}
	g, size, err := n.partGraph(f.p.Train.X.Shape(), f.s.BatchSize)
	if err != nil {
		return err
	}
	m, rungs, times, parts := f.layer.Inducing(), n.rungs(), float64(f.s.Iterations), f.s.BatchSize/size
	plan.Hold(g.draft.Bytes() + gp.Numbers(f.p.Train.N(), n.outputs) + gp.Numbers(rungs, 2*m+2*size*each/max(1, parts), m))
	plan.Beside(gp.Numbers(rungs*6+4, m, m) + gp.Numbers(rungs*2+2, size*each, m))
	step := g.stepCost(parts)
	plan.Run(step, times)
	var rung gp.Plan
	rung.Products(times * float64(m) * float64(m) * (spectra*float64(m) + (1+2*f.share)*float64(f.s.BatchSize*each)))
	plan.Times(&rung, 1)
	plan.Beyond(&rung, float64(rungs-1))
	plan.Elements(times * float64(rungs) * float64(f.s.BatchSize*n.outputs) * 20)
	plan.Calls(times * float64(rungs) * rungCalls)
	if err := cmp.Or(n.planScores(plan), n.planTerms(plan, n.alpha, size, rungs, times*float64(parts*rungs))); err != nil {
		return err
	}
	if f.p.Validation != nil {
		if err := n.planValidation(plan, step, times, rungs, m); err != nil {
			return err
		}
	}
	return plan.Check(f.r.Limit())
}

// stepCost returns the cost of a step of some parts.
func (g *inputsGraph) stepCost(parts int) graph.Cost {
	c := g.draft.Cost()
	c.Each = c.Each.Times(float64(parts))
	if g.moves {
		c.Once, c.Each = graph.Work{}, c.Each.Plus(c.Once)
	}
	return c
}

// planScores counts the pass of the network whose scores draw mini-batches.
func (n *natural) planScores(plan *gp.Plan) error {
	if n.picks == nil {
		return nil
	}
	cost, err := gp.ForwardCost(n.p)
	plan.Run(cost, float64(scored(n.p.Train.N(), n.s.BatchSize, n.s.Iterations)))
	return err
}

// planTerms counts so many data terms of size rows each, and their runs. A choice of outputs is one more. They are functions of
// single numbers, so that their few products are not in the operations of the plan.
func (n *natural) planTerms(plan *gp.Plan, alpha float64, size, terms int, runs float64) error {
	c, err := steps.DataTermCost(n.lik, alpha, size, n.outputs, n.dt)
	if err != nil {
		return err
	}
	plan.Hold(int64(terms) * c.Bytes)
	var term gp.Plan
	term.Run(c, runs)
	plan.Beyond(&term, 1)
	return nil
}

// rungCalls is about how many operations on arrays a step takes for each rung.
const rungCalls = 40

// spectra is about how many multiplications a step takes for each rung, over M³.
const spectra = 8

// planValidation counts all validations of a fit whose step takes the given cost, so many times, and the scan before the
// first step.
func (n *natural) planValidation(plan *gp.Plan, step graph.Cost, times float64, rungs, m int) error {
	size := min(predictBatch, n.p.Validation.N())
	examples, cost, err := n.evaluated(size, true)
	if err != nil {
		return err
	}
	if cost.Bytes > largeProgram && examples > largeBatch {
		if examples, cost, err = n.evaluated(largeBatch, true); err != nil {
			return err
		}
	}
	checks := float64(n.s.Iterations / max(1, n.s.ValidateEvery))
	looks := checks                                                // that compute the network and the kernel
	one := work(step.Each) / (work(cost.Each) / float64(examples)) // rows that take as long as a step
	held := min(n.p.Validation.N(), n.validated(one))
	rows := float64(held)
	derived := cmp.Or(n.likeliest, n.outputs)
	plan.Hold(cost.Bytes + gp.Numbers(examples, derived, m+1))
	plan.Beside(gp.Numbers(rungs+1, examples*derived, m))
	most := scanRows(n.outputs, scanShare*one*times)
	seen := min(n.p.Train.N(), scanned, most)
	if n.keeps(held) {
		looks = min(1, checks)
		plan.Hold(int64(held*n.keptWidth()) * int64(n.dt.Size()))
	} else {
		seen += min(held, most)
	}
	plan.Run(cost, looks*rows/float64(examples))
	if rungs > 1 {
		var scan gp.Plan
		scan.Run(cost, float64(seen)/float64(examples))
		plan.Beyond(&scan, 1)
	}
	var rung gp.Plan
	rung.Products(checks * rows * float64(derived) * float64(m) * float64(m) * n.share)
	plan.Times(&rung, 1)
	plan.Beyond(&rung, float64(rungs))
	return n.planTerms(plan, 1, examples, 1, checks*math.Ceil(rows/float64(examples))*float64(rungs*len(n.temperatures())+1))
}

// work is the number of operations of a run.
func work(w graph.Work) float64 { return w.Products + w.Elements }
