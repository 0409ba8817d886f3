package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
)

// routes returns the handler of all paths of the server.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
			refuse(w, err)
		}
	})
	for _, path := range []string{"GET /v2", "GET /v2/{$}"} {
		mux.HandleFunc(path, s.guarded(plainly(func(w http.ResponseWriter, _ *http.Request) { reply(w, serverMetadata()) })))
	}
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, s.guarded(s.modelMetadata))
		mux.HandleFunc("GET "+path+"/ready", s.guarded(s.modelReady))
		mux.HandleFunc("POST "+path+"/infer", s.guarded(s.answering(s.infer)))
	}
	mux.HandleFunc("POST /predict", s.guarded(s.answering(s.plain, slices.Concat([]string{"model"}, plainParameters)...)))
	mux.HandleFunc("POST /models/{model}/predict", s.guarded(s.answering(s.plain, plainParameters...)))
	mux.HandleFunc("POST /outcomes", s.guarded(s.answering(s.outcomes, "model")))
	mux.HandleFunc("POST /models/{model}/outcomes", s.guarded(s.answering(s.outcomes)))
	for _, path := range []string{"GET /outcomes", "GET /models/{model}/outcomes"} {
		mux.HandleFunc(path, s.forBrowsers(s.guarded(s.showWeeks)))
	}
	mux.HandleFunc("GET /metrics", s.guarded(plainly(promhttp.HandlerFor(s.o.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP)))
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /page.js", asset("page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /page.css", asset("page.css", "text/css; charset=utf-8"))
	if s.o.PProf {
		mux.HandleFunc("GET /debug/pprof/", s.guarded(plainly(pprof.Index)))
		mux.HandleFunc("GET /debug/pprof/profile", s.guarded(plainly(pprof.Profile)))
	}
	return s.identified(found(mux))
}

// found returns a handler that refuses addresses and methods that the mux does not have as other refusals, by JSON.
func found(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		u := unsent{}
		own.ServeHTTP(u, r)
		if allow := http.Header(u).Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			refuse(w, &refusal{http.StatusMethodNotAllowed, fmt.Sprintf("method %s, expected %s", short(r.Method), allow)})
			return
		}
		refuse(w, &refusal{http.StatusNotFound, "no address " + short(r.URL.Path)})
	})
}

// unsent is an answer of which only the header is kept.
type unsent http.Header

// Header implements http.ResponseWriter.
func (u unsent) Header() http.Header { return http.Header(u) }

// Write implements http.ResponseWriter.
func (u unsent) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (u unsent) WriteHeader(int) {}

// identified gives each request an id: the client's or a new one. The answer and the log have the id. A
// server that shuts down closes connections, so that the next requests of its clients go elsewhere.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("X-Request-Id", requestID(r.Header.Get("X-Request-Id")))
		next.ServeHTTP(w, r)
	})
}

// requestID returns the id of a client, or a new id if the client gives none or an unusable one.
func requestID(id string) string {
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
		var b [8]byte
		_, _ = rand.Read(b[:]) // Read never fails
		id = hex.EncodeToString(b[:])
	}
	return id
}

// hashes returns the SHA-256 sums of tokens. Sums have one length, so that the time of a comparison
// tells nothing about a token.
func hashes(tokens []string) [][32]byte {
	var out [][32]byte
	for _, t := range tokens {
		out = append(out, sha256.Sum256([]byte(t)))
	}
	return out
}

// handler answers a request, or returns the reason for a refusal.
type handler func(w http.ResponseWriter, r *http.Request) error

// guarded passes requests with a known token on to next; a server without tokens passes all requests
// on. It answers and logs refusals.
func (s *Server) guarded(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error = errToken
		if s.known(r.Header.Get("Authorization")) {
			err = next(w, r)
		}
		if err == nil {
			return
		}
		refuse(w, err)
		status, message := statusOf(err)
		s.o.Log.Info("refused", "id", w.Header().Get("X-Request-Id"), "method", r.Method, "path", r.URL.Path, "status", status, "from", r.RemoteAddr, "error", message)
	}
}

// plainly turns next into a handler that refuses nothing.
func plainly(next http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		next(w, r)
		return nil
	}
}

// errToken refuses a request without a known token.
var errToken = &refusal{http.StatusUnauthorized, "expected a known token in the header Authorization: Bearer TOKEN"}

// known says whether a header Authorization has a known token. A server without tokens knows all.
func (s *Server) known(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	hash, known := sha256.Sum256([]byte(token)), 0
	for _, t := range s.tokens {
		known |= subtle.ConstantTimeCompare(hash[:], t[:])
	}
	return known != 0 && strings.EqualFold(scheme, "Bearer") || len(s.tokens) == 0
}

// fail answers with a status and an error of the protocol.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

// reply answers with v as JSON.
func reply(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n'))
}

// ready returns nil if the server takes requests for all models, and otherwise the reason.
func (s *Server) ready() error {
	if s.draining.Load() {
		return errDraining
	}
	for _, h := range s.models {
		v, err := h.take("")
		if err != nil {
			return err
		}
		v.release()
	}
	return nil
}

// version returns the present version of the model called name. If hash is not "", another version than
// hash is an error. The caller must release the version.
func (s *Server) version(name, hash string) (*version, error) {
	h, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return h.take(hash)
}

// modelReady answers whether a model is loaded.
func (s *Server) modelReady(_ http.ResponseWriter, r *http.Request) error {
	v, err := s.version(r.PathValue("model"), r.PathValue("version"))
	if err == nil {
		v.release()
	}
	return err
}

// modelMetadata describes the inputs and outputs of a model.
func (s *Server) modelMetadata(w http.ResponseWriter, r *http.Request) error {
	v, err := s.version(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	defer v.release()
	reply(w, v.metadata())
	return nil
}

// request is a request for predictions that the server is answering.
type request struct {
	*version                 // version that answers; nil until the body is read
	memory   share           // memory that the request has taken
	id       string          // id of the request, for the log and the answer
	from     string          // address of the client
	ctx      context.Context // ends with the limit of time
	span     trace.Span      // span of the request in its trace
	rows     int             // number of rows

	w       http.ResponseWriter // answer of HTTP; nil for gRPC
	r       *http.Request       // request of HTTP; nil for gRPC
	body    []byte              // body of r
	content string              // media type of the body
}

// answering returns a handler that reads a request for predictions, takes the version of the model,
// and calls answer. The address may have the parameters whose names are known.
func (s *Server) answering(answer func(*request) error, known ...string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		query, err := url.ParseQuery(r.URL.RawQuery) // of what is malformed r.URL.Query leaves parts out
		if err != nil {
			return fmt.Errorf("the parameters of the address: %w", err)
		}
		if err := checkQuery(query, known...); err != nil {
			return err
		}
		name := cmp.Or(r.PathValue("model"), query.Get("model"))
		h, err := s.find(name)
		if err != nil {
			return err
		}
		q := &request{id: w.Header().Get("X-Request-Id"), from: r.RemoteAddr, memory: share{of: s.budget}, w: w, r: r}
		defer q.memory.free()
		q.content, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
		ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		err = s.counted(ctx, h, q, func() (err error) {
			if q.body, err = s.body(w, r, &q.memory); err != nil {
				return err
			}
			return q.holding(h, r.PathValue("version"), answer)
		})
		if err != nil {
			refuse(w, err)
		}
		return nil
	}
}

// holding calls answer while q counts as unanswered and holds the present version of h. If hash is not
// "", another version than hash is an error.
func (q *request) holding(h *hosted, hash string, answer func(*request) error) (err error) {
	if err := h.enter(); err != nil {
		return err
	}
	defer h.leave()
	if q.version, err = h.take(hash); err != nil {
		return err
	}
	defer q.release()
	return answer(q)
}

// body reads the body of r within the limits of time, bytes and memory. The request holds no version until the body is
// read, so that slow clients do not keep old versions in memory.
func (s *Server) body(w http.ResponseWriter, r *http.Request, memory *share) ([]byte, error) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.o.Timeout)) // some connections have no deadlines
	b, err := readAll(http.MaxBytesReader(w, r.Body, s.o.MaxBytes), memory)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &refusal{http.StatusRequestTimeout, fmt.Sprintf("the body was not there within %v", s.o.Timeout)}
	} else if err != nil {
		return nil, err
	}
	_ = c.SetReadDeadline(time.Time{})
	return b, nil
}

// readAll reads all bytes of r and takes their memory as they arrive, so that a client that only claims to send many bytes
// takes little.
func readAll(r io.Reader, memory *share) (b []byte, err error) {
	for {
		if len(b) == cap(b) {
			more := max(512, cap(b))
			if err := memory.take(float64(2 * more)); err != nil { // the bytes before are copied
				return nil, err
			}
			b = append(make([]byte, 0, len(b)+more), b...)
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// counted calls answer for the request q to the model h within the limit of time. It counts, traces
// and logs the request.
func (s *Server) counted(ctx context.Context, h *hosted, q *request, answer func() error) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	q.ctx, q.span = s.o.Tracer.Start(ctx, "predict", trace.WithSpanKind(trace.SpanKindServer))
	var err error = errDraining
	if !s.draining.Load() {
		err = answer()
	}
	status, _ := statusOf(err)
	took := time.Since(start)
	version := ""
	if q.version != nil {
		version = q.hash
	}
	s.o.metrics.request(h.name, status, took)
	s.o.Log.Info("request", "id", q.id, "trace", q.trace(), "model", h.name, "version", version,
		"status", status, "rows", q.rows, "seconds", took.Seconds(), "from", q.from, "error", text(err))
	q.endSpan(h.name, version, status, err)
	return err
}

// text returns the text of an error, and "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// predict returns the predictions for the rows in.
func (s *Server) predict(q *request, in rows, o valla.PredictOptions) (*answer, error) {
	q.rows = in.n
	ctx := q.ctx
	g, err := q.queue.latents(ctx, in.x, in.n)
	if err != nil {
		return nil, err
	}
	o.Inputs = in.x
	a := &answer{ctx: ctx, v: q.version, n: in.n, x: in.x, g: g, memory: &q.memory}
	if o.Link == valla.MonteCarlo {
		if err := a.join(); err != nil {
			return nil, err
		}
	}
	if err := q.model.Fill(ctx, a.g, o, &a.p); errors.Is(err, valla.ErrSetting) || err != nil && ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		return nil, &refusal{http.StatusInternalServerError, "no prediction: " + err.Error()}
	}
	s.o.metrics.rows.WithLabelValues(q.name).Add(float64(in.n))
	if unusual := q.unusual(g); unusual > 0 {
		s.o.metrics.unusual.WithLabelValues(q.name).Add(float64(unusual))
	}
	s.countDrift(q.version, in.x, &a.p)
	return a, nil
}

// countDrift counts rows of inputs and their predictions for the drift.
func (s *Server) countDrift(v *version, x []float64, p *valla.Prediction) {
	for j, psi := range v.drift.add(x) {
		s.o.metrics.psi.WithLabelValues(v.name, v.model.Task.Inputs.Features[j]).Set(psi)
	}
	for _, psi := range v.familiar.add(p.Unfamiliar) {
		s.o.metrics.unfamiliar.WithLabelValues(v.name).Set(psi)
	}
	names := v.model.Task.Predicted()
	for j, psi := range v.output.add(outputsOf(p), len(names)) {
		s.o.metrics.output.WithLabelValues(v.name, names[j]).Set(psi)
	}
}

// outputsOf returns the means of predictions [n·T], or the numbers of the most probable classes [n].
func outputsOf(p *valla.Prediction) []float64 {
	if p.Classes == nil {
		return p.Mean
	}
	var out []float64
	for _, k := range p.Best() {
		out = append(out, float64(k))
	}
	return out
}

// adapted returns the predictions for the rows in, whose intervals and quantiles adapt to the outcomes where the model takes some. The predictions
// are kept under an id for their labels.
func (s *Server) adapted(q *request, id string, in rows, o valla.PredictOptions) (*answer, error) {
	a, err := s.predict(q, in, o)
	by := q.version.outcomes
	if err != nil || by == nil {
		return a, err
	}
	by.keep(id, kept{a.p, in.x})
	a.p = by.adapted(a.p)
	lower, upper, err := a.p.Interval(s.o.OutcomeLevel)
	width := 0.0
	for i := range lower {
		width += (upper[i] - lower[i]) / float64(len(lower))
	}
	s.o.metrics.width.WithLabelValues(q.name).Set(width)
	return a, err
}

// unusual counts the rows with a larger latent standard deviation than 99 % of the training rows.
func (v *version) unusual(g gp.Gaussian) int {
	if v.usual == 0 {
		return 0
	}
	count := 0
	for i := range g.N() {
		if g.Spread(i) > v.usual {
			count++
		}
	}
	return count
}

// infer answers a request of the inference protocol over HTTP.
func (s *Server) infer(q *request) error {
	length := 0
	if h := q.r.Header.Get(headerLength); h != "" {
		var err error
		if length, err = strconv.Atoi(h); err != nil || length < 1 {
			return fmt.Errorf("%s %q, expected a number of bytes", headerLength, short(h))
		}
	}
	if err := q.memory.take(parsing(jsonPart(q.body, length))); err != nil {
		return err
	}
	r, err := parseInfer(q.body, length)
	if err != nil {
		return err
	}
	out, err := s.inferred(q, r)
	if err != nil {
		return err
	}
	q.send(out, r)
	return nil
}

// inferred returns the response to a request of the inference protocol.
func (s *Server) inferred(q *request, r *inferRequest) (*inferResponse, error) {
	numbers, err := q.planned(r)
	if err != nil {
		return nil, err
	}
	if err := q.memory.take(r.decoding()); err != nil {
		return nil, err
	}
	in, err := q.tensorRows(r.Inputs, s.o.MaxRows)
	if err != nil {
		return nil, err
	}
	if err := q.memory.take(q.answerBytes(in.n, float64(in.n)*numbers, outputBytes)); err != nil {
		return nil, err
	}
	id := q.id
	if requestID(r.ID) == r.ID { // else a client could not name it
		id = r.ID
	}
	link, err := linkOf(r.Parameters)
	if err != nil {
		return nil, err
	}
	a, err := s.adapted(q, id, in, link)
	if err != nil {
		return nil, err
	}
	out := &inferResponse{ModelName: q.name, ModelVersion: q.hash, ID: r.ID}
	out.Outputs, err = a.tensors(r)
	return out, err
}

// linkOf returns the link of class probabilities, and its seed, that the parameters name.
func linkOf(parameters map[string]any) (o valla.PredictOptions, err error) {
	switch link := parameters["link"].(type) {
	case nil:
	case string:
		o.Link = task.Link(link)
	default:
		return o, fmt.Errorf("parameter link is %s, expected a text", told(link))
	}
	seed, err := whole(parameters, "seed", 0, math.MaxInt32)
	o.Seed = uint64(seed)
	return o, err
}
