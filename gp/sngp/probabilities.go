package sngp

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/internal/kernel"
)

// probabilities says how a posterior makes probabilities of classes.
type probabilities struct {
	Link    string  `json:"link"`              // mean-field or mc
	Lambda  float64 `json:"lambda,omitempty"`  // λ of mean-field
	Samples int     `json:"samples,omitempty"` // S of mc
	Seed    uint64  `json:"seed,omitempty"`    // of mc
}

// The links.
const (
	linkMeanField = "mean-field"
	linkSamples   = "mc"
)

// drawStream is the random stream of a seed for the draws of mc.
const drawStream = 11

// draws returns the normal numbers of mc [S,C], which all inputs share; nil with mean-field.
func (p probabilities) draws(outputs int) []float64 {
	if p.Link != linkSamples {
		return nil
	}
	return normals(p.Samples*outputs, rand.New(rand.NewPCG(p.Seed, drawStream)))
}

// fill writes probabilities [n,C] for values f [n,C] with covariances cov [n,C,C], by the draws.
// work is a workspace of C² + C elements.
func (p probabilities) fill(dst, f, cov, draws, work []float64, c int) {
	if p.Link == linkMeanField {
		for i, v := range f {
			dst[i] = v / math.Sqrt(1+p.Lambda*cov[i*c+i%c])
		}
		softmax(dst, c)
		return
	}
	root, row := work[:c*c], work[c*c:]
	for i := range len(f) / c {
		rootOf(root, cov[i*c*c:(i+1)*c*c], c)
		averaged(dst[i*c:(i+1)*c], f[i*c:(i+1)*c], root, draws, row)
	}
}

// rootOf writes the Cholesky factor of a covariance [c,c]; zeros for a covariance of zeros.
func rootOf(root, cov []float64, c int) {
	top := 0.0
	for k := range c {
		top = max(top, cov[k*c+k])
	}
	copy(root, cov)
	for k := range c {
		root[k*c+k] += 1e-15 * top
	}
	if kernel.Cholesky(c, root, c) >= 0 {
		clear(root)
	}
}

// averaged writes the mean of softmax(f + R z) over the draws z [S,C]; row is a workspace.
func averaged(dst, f, root, draws, row []float64) {
	c := len(f)
	clear(dst)
	for first := 0; first < len(draws); first += c {
		for k := range row {
			row[k] = f[k] + kernel.Dot(root[k*c:k*c+k+1], draws[first:first+k+1])
		}
		kernel.Softmax(row, row)
		kernel.Axpy(float64(c)/float64(len(draws)), row, dst)
	}
}

// softmax overwrites rows [n,c] by their probabilities.
func softmax(rows []float64, c int) {
	for first := 0; first < len(rows); first += c {
		kernel.Softmax(rows[first:first+c], rows[first:first+c])
	}
}
