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
)

// Server answers for its models. It is an http.Handler; [Server.Run] also listens.
type Server struct {
	o        Options
	models   []*hosted // in the order of the options
	handler  http.Handler
	draining atomic.Bool
	watching sync.WaitGroup
	stop     context.CancelFunc
	tokens   [][32]byte // hashes
}

// New loads the models. Every one must be there: a model that cannot be loaded is an error.
// Close ends what New starts.
func New(ctx context.Context, o Options) (*Server, error) {
	o = o.complete()
	if len(o.Models) == 0 {
		return nil, errors.New("serve: no models")
	}
	s := &Server{o: o, tokens: hashes(o.Tokens)}
	for _, m := range o.Models {
		if m.Name == "" || slices.ContainsFunc(s.models, func(h *hosted) bool { return h.name == m.Name }) {
			return nil, fmt.Errorf("serve: %s: two models are called %q, or one is not called at all: expected different names", m.Path, m.Name)
		}
		h := &hosted{name: m.Name, path: m.Path, seen: stampOf(m.Path)}
		v, err := load(ctx, m.Name, m.Path, o)
		if err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
		h.replace(v)
		s.models = append(s.models, h)
		o.metrics.info.WithLabelValues(h.name, v.hash).Set(1)
		o.Log.Info("model loaded", "model", h.name, "version", v.hash, "file", h.path)
	}
	s.handler = s.routes()
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	if s.stop = stop; o.Reload > 0 {
		s.watching.Go(func() { s.watch(watch) })
	}
	return s, nil
}

// Close ends the watch of the files and waits for all requests in the queues.
func (s *Server) Close() {
	s.draining.Store(true)
	s.stop()
	s.watching.Wait()
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

// find returns the model of a name, nil where there is none.
func (s *Server) find(name string) *hosted {
	for _, h := range s.models {
		if h.name == name {
			return h
		}
	}
	return nil
}

// watch looks at the files from time to time until ctx ends.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.o.Reload)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, h := range s.models {
				s.refresh(ctx, h, false)
			}
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
	h.seen = now
	v, err := load(ctx, h.name, h.path, s.o)
	if err != nil {
		s.o.metrics.reloads.WithLabelValues(h.name, "failed").Inc()
		s.o.Log.Error("model not loaded, the one before goes on", "model", h.name, "error", err)
		return
	}
	old := h.present()
	h.replace(v)
	s.o.metrics.reloads.WithLabelValues(h.name, "loaded").Inc()
	s.o.metrics.info.DeletePartialMatch(map[string]string{"model": h.name})
	s.o.metrics.info.WithLabelValues(h.name, v.hash).Set(1)
	s.o.Log.Info("model loaded", "model", h.name, "version", v.hash, "before", old)
}

// Listeners are where a [Server] listens: for HTTP and, if it is not nil, for gRPC.
type Listeners struct{ HTTP, GRPC net.Listener }

// Run answers on listeners until ctx ends. It then refuses new work for the time of grace, so
// that a balancer can notice, waits for the requests at hand, and closes the server.
func (s *Server) Run(ctx context.Context, l Listeners, grace, patience time.Duration) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: s.o.Timeout + 20*time.Second,
		WriteTimeout: s.o.Timeout + 30*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	g := s.GRPC()
	failed := make(chan error, 2)
	go func() { failed <- h.Serve(l.HTTP) }()
	if l.GRPC != nil {
		go func() { failed <- g.Serve(l.GRPC) }()
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.o.Log.Info("draining")
	time.Sleep(grace)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	stop := context.AfterFunc(end, g.Stop) // cuts off what GracefulStop waits for
	var stopped sync.WaitGroup
	stopped.Go(g.GracefulStop)
	err := h.Shutdown(end)
	if err != nil {
		err = fmt.Errorf("serve: requests were cut off: %w", errors.Join(err, h.Close()))
	}
	stopped.Wait()
	stop()
	s.Close()
	return err
}
