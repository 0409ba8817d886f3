package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/pprof"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
)

// routes are the paths of the server.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
			refuse(w, err)
		}
	})
	for _, path := range []string{"GET /v2", "GET /v2/{$}"} {
		mux.HandleFunc(path, s.guarded(plainly(s.serverMetadata)))
	}
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, s.guarded(s.modelMetadata))
		mux.HandleFunc("GET "+path+"/ready", s.guarded(s.modelReady))
		mux.HandleFunc("POST "+path+"/infer", s.guarded(s.answering(s.infer)))
	}
	mux.HandleFunc("POST /predict", s.guarded(s.answering(s.plain)))
	mux.HandleFunc("POST /models/{model}/predict", s.guarded(s.answering(s.plain)))
	mux.HandleFunc("GET /metrics", s.guarded(plainly(s.o.metrics.handler().ServeHTTP)))
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /page.js", asset("page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /page.css", asset("page.css", "text/css; charset=utf-8"))
	if s.o.PProf {
		mux.HandleFunc("GET /debug/pprof/", s.guarded(plainly(pprof.Index)))
		mux.HandleFunc("GET /debug/pprof/profile", s.guarded(plainly(pprof.Profile)))
	}
	return s.identified(mux)
}

// identified gives each request an id, its own or a new one, which the answer and the log name. A
// server that ends lets go of its clients' connections, so that their next requests go elsewhere.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("X-Request-Id", requestID(r.Header.Get("X-Request-Id")))
		next.ServeHTTP(w, r)
	})
}

// requestID returns the id that a client gives, or a new one where that is none.
func requestID(id string) string {
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
		var b [8]byte
		_, _ = rand.Read(b[:]) // which never fails
		id = hex.EncodeToString(b[:])
	}
	return id
}

// hashes are those of tokens: hashes have one length, so that comparing them tells nothing.
func hashes(tokens []string) [][32]byte {
	var out [][32]byte
	for _, t := range tokens {
		out = append(out, sha256.Sum256([]byte(t)))
	}
	return out
}

// handler answers a request, or returns why it does not.
type handler func(w http.ResponseWriter, r *http.Request) error

// guarded lets requests with a token through, or all where there are no tokens, and answers and
// logs those that are refused.
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

// plainly is a handler that refuses nothing.
func plainly(next http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		next(w, r)
		return nil
	}
}

var errToken = &refusal{http.StatusUnauthorized, "expected a known token in the header Authorization: Bearer TOKEN"}

// known says whether a header Authorization has one of the tokens, or there are none.
func (s *Server) known(authorization string) bool {
	token, _ := strings.CutPrefix(authorization, "Bearer ")
	hash, known := sha256.Sum256([]byte(token)), 0
	for _, t := range s.tokens {
		known |= subtle.ConstantTimeCompare(hash[:], t[:])
	}
	return known != 0 || len(s.tokens) == 0
}

// fail answers with an error of the protocol.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

// reply answers with JSON.
func reply(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n'))
}

// ready says whether the server takes requests, for any model.
func (s *Server) ready() error {
	if s.draining.Load() {
		return errDraining
	}
	for _, h := range s.models {
		if h.present() == "" {
			return &refusal{http.StatusServiceUnavailable, fmt.Sprintf("model %q is not loaded", h.name)}
		}
	}
	return nil
}

// extensions are those of the protocol.
var extensions = []string{"binary_tensor_data"}

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]any{"name": "valla", "version": valla.Version(), "extensions": extensions})
}

// version returns the version that the path names, to be released.
func (s *Server) version(r *http.Request) (*version, error) {
	h, err := s.find(r.PathValue("model"))
	if err != nil {
		return nil, err
	}
	return h.take(r.PathValue("version"))
}

func (s *Server) modelReady(_ http.ResponseWriter, r *http.Request) error {
	v, err := s.version(r)
	if err == nil {
		v.release()
	}
	return err
}

// modelMetadata describes the inputs and outputs.
func (s *Server) modelMetadata(w http.ResponseWriter, r *http.Request) error {
	v, err := s.version(r)
	if err != nil {
		return err
	}
	defer v.release()
	reply(w, v.metadata())
	return nil
}

// request is one for predictions on its way.
type request struct {
	*version // nil until the body is there
	id, from string
	ctx      context.Context // with the limit of time
	span     trace.Span
	rows     int

	// These are of HTTP.
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	content string // the media type of the body
}

// answering wraps what answers a request for predictions: limits, the version, the count.
func (s *Server) answering(answer func(*request) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("model")
		if name == "" {
			name = r.URL.Query().Get("model")
		}
		h, err := s.find(name)
		if err != nil {
			return err
		}
		q := &request{id: w.Header().Get("X-Request-Id"), from: r.RemoteAddr, w: w, r: r}
		q.content, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
		ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		err = s.counted(ctx, h, q, func() (err error) {
			if q.body, err = s.body(w, r); err != nil {
				return err
			}
			if err := h.enter(); err != nil {
				return err
			}
			defer h.leave()
			if q.version, err = h.take(r.PathValue("version")); err != nil {
				return err
			}
			defer q.release()
			return answer(q)
		})
		if err != nil {
			refuse(w, err)
		}
		return nil
	}
}

// body reads the body, which must come within the limit of time. Until it is there the request
// holds no version, so that slow clients do not keep old ones in memory.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.o.Timeout)) // where the connection has deadlines
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBytes))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &refusal{http.StatusRequestTimeout, fmt.Sprintf("the body was not there within %v", s.o.Timeout)}
	} else if err != nil {
		return nil, err
	}
	_ = c.SetReadDeadline(time.Time{})
	return b, nil
}

// counted answers a request to a model within the limit of time, and counts, traces and logs it.
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

// text is that of an error, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// predict computes the rows and turns them into predictions.
func (s *Server) predict(q *request, in rows, o valla.PredictOptions) (*answer, error) {
	q.rows = in.n
	ctx := q.ctx
	g, err := q.queue.latents(ctx, in.x, in.n)
	if err != nil {
		return nil, err
	}
	a := &answer{ctx: ctx, v: q.version, n: in.n, g: g}
	if err := q.model.Fill(ctx, g, o, &a.p); errors.Is(err, valla.ErrSetting) || err != nil && ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", errPrediction, err)
	}
	s.o.metrics.rows.WithLabelValues(q.name).Add(float64(in.n))
	if unusual := q.unusual(g); unusual > 0 {
		s.o.metrics.unusual.WithLabelValues(q.name).Add(float64(unusual))
	}
	return a, nil
}

// unusual counts the rows of which the model is less sure than of 99 % of the training rows.
func (v *version) unusual(g gp.Gaussian) int {
	if v.usual == 0 {
		return 0
	}
	count, c := 0, v.outputs
	for i := range len(g.Mean) / c {
		if valla.Spread(g.Cov[i*c*c:(i+1)*c*c], c) > v.usual {
			count++
		}
	}
	return count
}

// infer answers by the inference protocol.
func (s *Server) infer(q *request) error {
	length := 0
	if h := q.r.Header.Get(headerLength); h != "" {
		var err error
		if length, err = strconv.Atoi(h); err != nil || length < 1 {
			return fmt.Errorf("%s %q, expected a number of bytes", headerLength, short(h))
		}
	}
	r, err := parseInfer(q.body, length)
	if err != nil {
		return err
	}
	out, err := s.inferred(q, r)
	if err != nil {
		return err
	}
	return q.send(out, r)
}

// inferred answers a request of the inference protocol.
func (s *Server) inferred(q *request, r *inferRequest) (*inferResponse, error) {
	for _, o := range r.Outputs {
		if _, err := q.named(o.Name); err != nil {
			return nil, err
		}
	}
	in, err := q.tensorRows(r.Inputs, s.o.MaxRows)
	if err != nil {
		return nil, err
	}
	a, err := s.predict(q, in, linkOf(r.Parameters))
	if err != nil {
		return nil, err
	}
	out := &inferResponse{ModelName: q.name, ModelVersion: q.hash, ID: r.ID}
	out.Outputs, err = a.tensors(r.Outputs, r.Parameters)
	return out, err
}

// linkOf reads the link of class probabilities from parameters.
func linkOf(parameters map[string]any) valla.PredictOptions {
	link, _ := parameters["link"].(string)
	seed, _ := parameters["seed"].(float64)
	return valla.PredictOptions{Link: task.Link(link), Seed: uint64(max(0, seed))}
}

// send writes a response of the protocol, with the outputs as bytes that are asked for so.
func (q *request) send(out *inferResponse, r *inferRequest) error {
	binaries := make([]bool, len(out.Outputs))
	for i := range binaries {
		binaries[i] = flag(r.Parameters, "binary_data_output")
		if i < len(r.Outputs) {
			if own, ok := r.Outputs[i].Parameters["binary_data"].(bool); ok {
				binaries[i] = own
			}
		}
	}
	body, length, err := out.encode(binaries)
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "application/json")
	if length > 0 {
		q.w.Header().Set("Content-Type", "application/octet-stream")
		q.w.Header().Set(headerLength, strconv.Itoa(length))
	}
	q.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = q.w.Write(body)
	return nil
}
