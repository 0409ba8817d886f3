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

	"google.golang.org/grpc"
)

// Server answers for its models. It is an http.Handler; [Server.Run] also listens.
type Server struct {
	o        Options
	models   []*hosted // in the order of the options
	handler  http.Handler
	draining atomic.Bool
	work     sync.WaitGroup // that goes on beside the requests
	life     context.Context
	stop     context.CancelFunc
	tokens   [][32]byte // hashes
}

// New returns a server, which answers once [Server.Load] has loaded its models. It must be closed.
func New(o Options) (*Server, error) {
	o = o.complete()
	if len(o.Models) == 0 {
		return nil, errors.New("serve: no models")
	}
	s := &Server{o: o, tokens: hashes(o.Tokens)}
	for _, m := range o.Models {
		if m.Name == "" || !utf8.ValidString(m.Name) || slices.ContainsFunc(s.models, func(h *hosted) bool { return h.name == m.Name }) {
			return nil, fmt.Errorf("serve: %s: two models are called %q, or that is no name: expected different names in UTF-8", m.Path, m.Name)
		}
		h := &hosted{name: m.Name, path: m.Path, room: make(chan struct{}, o.Queue)}
		s.models = append(s.models, h)
		o.metrics.queue(h)
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.handler = s.routes()
	return s, nil
}

// Load loads the models, and watches their files from then on. A model that cannot be loaded is
// an error.
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
		h.mu.Lock()
		v := h.current
		h.current = nil
		h.mu.Unlock()
		if v != nil {
			v.close()
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// find returns the model of a name. "" is the only model.
func (s *Server) find(name string) (*hosted, error) {
	var names []string
	for _, h := range s.models {
		if h.name == name || name == "" && len(s.models) == 1 {
			return h, nil
		}
		names = append(names, h.name)
	}
	return nil, &refusal{http.StatusNotFound, fmt.Sprintf("model %q, expected one of %s", short(name), quoted(names))}
}

// watch looks at the files from time to time until the server is closed.
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

// Reload loads every file again that has changed, or all of them.
func (s *Server) Reload(ctx context.Context, all bool) {
	for _, h := range s.models {
		s.refresh(ctx, h, all)
	}
}

// refresh loads a model again if its file is another than before. If that fails the present
// version goes on answering.
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

// renew makes the file of a model, which is as a stamp says, answer, and returns the version
// before, "" if there was none.
func (s *Server) renew(ctx context.Context, h *hosted, file stamp) (before string, err error) {
	before, h.seen = h.present(), file
	v, err := load(ctx, h.name, h.path, s.o)
	if err != nil {
		return before, err
	}
	h.replace(v)
	s.o.metrics.info.DeletePartialMatch(map[string]string{"model": h.name})
	s.o.metrics.info.WithLabelValues(h.name, v.hash).Set(1)
	s.o.Log.Info("model loaded", "model", h.name, "version", v.hash, "before", before, "file", h.path)
	return before, nil
}

// Listeners are where a [Server] listens: for HTTP and, if it is not nil, for gRPC.
type Listeners struct{ HTTP, GRPC net.Listener }

// Run answers on listeners, also while it loads the models, until ctx ends; loaded is called when
// all models answer. At the end Run refuses new work for the time of grace, so that a balancer can
// notice, waits for the requests at hand, and closes the server.
func (s *Server) Run(ctx context.Context, l Listeners, grace, patience time.Duration, loaded func()) error {
	defer s.Close()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: s.o.Timeout + 20*time.Second,
		WriteTimeout: s.o.Timeout + 30*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
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
			g.Stop()
			return errors.Join(err, h.Close())
		}
	case <-ctx.Done():
	}
	return s.drain(h, g, grace, patience)
}

// drain ends servers: new requests are refused for the time of grace, and those at hand are
// waited for.
func (s *Server) drain(h *http.Server, g *grpc.Server, grace, patience time.Duration) error {
	s.draining.Store(true)
	s.o.Log.Info("draining")
	time.Sleep(grace)
	end, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stop := context.AfterFunc(end, g.Stop) // cuts off what GracefulStop waits for
	defer stop()
	var stopped sync.WaitGroup
	stopped.Go(g.GracefulStop)
	err := h.Shutdown(end)
	if err != nil {
		err = fmt.Errorf("serve: requests were cut off: %w", errors.Join(err, h.Close()))
	}
	stopped.Wait()
	return err
}
