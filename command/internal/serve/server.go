package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// Server answers requests for predictions. It is an http.Handler; [Server.Run] also listens.
type Server struct {
	o        Options            // options with defaults filled in
	models   []*hosted          // models in the order of the options
	handler  http.Handler       // handler of all paths
	draining atomic.Bool        // whether new requests are refused
	budget   *budget            // memory of the requests under way
	work     sync.WaitGroup     // work beside the requests
	life     context.Context    // ends when the server is closed
	stop     context.CancelFunc // ends life
	tokens   [][32]byte         // SHA-256 sums of the tokens
}

// New returns a server, which answers after [Server.Load] has loaded its models. The caller must close
// it.
func New(o Options) (*Server, error) {
	o = o.complete()
	if len(o.Models) == 0 {
		return nil, errors.New("serve: no models")
	}
	s := &Server{o: o, tokens: hashes(o.Tokens), budget: newBudget(o.MaxAnswer)}
	for _, m := range o.Models {
		if m.Name == "" || !utf8.ValidString(m.Name) || slices.ContainsFunc(s.models, func(h *hosted) bool { return h.name == m.Name }) {
			return nil, fmt.Errorf("serve: %s: two models are called %q, or that is no name: expected different names in UTF-8", m.Path, m.Name)
		}
		h := &hosted{name: m.Name, path: m.Path, books: newBooks(), room: make(chan struct{}, o.Queue)}
		s.models = append(s.models, h)
		o.metrics.queue(h)
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.handler = s.routes()
	return s, nil
}

// Load loads the models and begins to watch their files. A model that cannot be loaded is an error.
func (s *Server) Load(ctx context.Context) error {
	for _, h := range s.models {
		h.reload.Lock()
		_, err := s.renew(ctx, h, stampOf(h.path))
		h.reload.Unlock()
		if err == nil {
			err = s.life.Err() // closed meanwhile
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	if s.o.Reload > 0 {
		s.work.Go(s.watch)
	}
	return nil
}

// Close ends the watch of the files and waits for all requests in the queues.
func (s *Server) Close() {
	s.draining.Store(true)
	s.stop()
	s.work.Wait()
	for _, h := range s.models {
		h.swap(nil).close()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// find returns the model with the given name. "" stands for the only model.
func (s *Server) find(name string) (*hosted, error) {
	var names []string
	for _, h := range s.models {
		if h.name == name || name == "" && len(s.models) == 1 {
			return h, nil
		}
		names = append(names, h.name)
	}
	return nil, &refusal{http.StatusNotFound, fmt.Sprintf("model %q, expected one of %s%s", short(name), tablefile.Listed(names), settings.Nearest(name, names))}
}

// watch checks the files from time to time until the server is closed.
func (s *Server) watch() {
	tick := time.NewTicker(s.o.Reload)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
			s.Reload(s.life, false)
		}
	}
}

// Reload loads every file that has changed; if all is true, it loads all files.
func (s *Server) Reload(ctx context.Context, all bool) {
	for _, h := range s.models {
		s.refresh(ctx, h, all)
	}
}

// refresh loads the file of h if it has changed, or always. If that fails, the present version goes on
// answering.
func (s *Server) refresh(ctx context.Context, h *hosted, always bool) {
	h.reload.Lock()
	defer h.reload.Unlock()
	now := stampOf(h.path)
	if !always && now == h.seen {
		return
	}
	if before, err := s.renew(ctx, h, now); err != nil && before != "" {
		s.o.metrics.reloads.WithLabelValues(h.name, "failed").Inc()
		s.o.Log.Error("model not loaded, the one before goes on", "model", h.name, "error", err)
	} else if err == nil {
		s.o.metrics.reloads.WithLabelValues(h.name, "loaded").Inc()
	}
}

// renew loads the file of h, whose stamp is file, and lets the new version answer. It returns the hash
// of the version before, or "" if there was none.
func (s *Server) renew(ctx context.Context, h *hosted, file stamp) (before string, err error) {
	before, h.seen = h.present(), file
	v, err := load(ctx, h.name, h.path, s.o)
	if err != nil {
		return before, err
	}
	if err := s.collect(h, v); err != nil {
		v.close()
		return before, err
	}
	go h.swap(v).close()
	s.o.metrics.forget(h.name)
	s.o.metrics.info.WithLabelValues(h.name, v.hash).Set(1)
	if v.outcomes != nil {
		s.o.metrics.outcome(h.name, v.outcomes.state(), 0)
	}
	s.o.Log.Info("model loaded", "model", h.name, "version", v.hash, "before", before, "file", h.path)
	return before, nil
}

// collect lets a version take labels, if the options name a folder for them. A version that was there before goes on with its
// labels.
func (s *Server) collect(h *hosted, v *version) (err error) {
	if s.o.Outcomes == "" {
		return nil
	}
	v.drift, v.output = newDrift(v.model.Profile()), &outputDrift{}
	if n := len(v.model.History); n > 0 && v.model.Posterior != nil {
		v.familiar = newDrift(familiarity(v.model.History[n-1].Spreads))
	}
	if !adapts(v.model) {
		return nil
	}
	if v.outcomes, err = h.books.open(v, s.o); err != nil {
		return err
	}
	if before := h.acquire(); before != nil {
		v.former = h.books.share(before.before(v.hash))
		before.release()
	}
	return nil
}

// Listeners are the listeners of a [Server].
type Listeners struct {
	HTTP net.Listener // requests by HTTP
	GRPC net.Listener // requests by gRPC; nil means none
}

// Run answers on the listeners l until ctx ends. It loads the models meanwhile and calls loaded when
// all models answer. At the end it refuses new requests for the time grace, so that a balancer can
// notice. It then waits at most for the time patience for unanswered requests, and closes the server.
func (s *Server) Run(ctx context.Context, l Listeners, grace, patience time.Duration, loaded func()) error {
	defer s.Close()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: s.o.Timeout + 20*time.Second,
		WriteTimeout: s.o.Timeout + slowClient, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	g := s.GRPC()
	failed := make(chan error, 3)
	go func() { failed <- fmt.Errorf("serve: %w", h.Serve(l.HTTP)) }()
	if l.GRPC != nil {
		go func() { failed <- fmt.Errorf("serve: %w", g.Serve(l.GRPC)) }()
	}
	s.work.Go(func() {
		if err := s.Load(ctx); err != nil {
			failed <- err
			return
		}
		loaded()
	})
	select {
	case err := <-failed:
		if ctx.Err() == nil {
			return errors.Join(err, g.Close(), h.Close())
		}
	case <-ctx.Done():
	}
	err := s.drain(h, g, grace, patience)
	s.Close() // before the last line of the log
	s.o.Log.Info("ended", "error", text(err))
	return err
}

// slowClient is the time beyond the limit of a request in which a client has to receive the answer.
const slowClient = 30 * time.Second

// drain shuts the servers down: it refuses new requests for the time grace, and waits for unanswered
// requests for the time patience.
func (s *Server) drain(h, g *http.Server, grace, patience time.Duration) error {
	s.draining.Store(true)
	s.o.Log.Info("draining")
	time.Sleep(grace)
	end, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all sync.WaitGroup
	var errs [2]error
	for i, server := range []*http.Server{h, g} {
		all.Go(func() {
			if err := server.Shutdown(end); err != nil {
				errs[i] = fmt.Errorf("serve: requests were cut off: %w", errors.Join(err, server.Close()))
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}
