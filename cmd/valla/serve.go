package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla/cmd/valla/internal/serve"
	"github.com/go-valla/valla/internal/settings"
)

// serveCommand is the command line of valla serve.
type serveCommand struct {
	o         serve.Options
	models    []string
	listen    string
	grpc      string
	tokenFile string
	cert, key string
	log       string
	memory    memory
	bodies    memory
	grace     time.Duration
	patience  time.Duration
}

func newServe() *cobra.Command {
	c := &serveCommand{}
	cmd := &cobra.Command{
		Use:   "serve --model [NAME=]FILE...",
		Short: "Answer predictions over HTTP",
		Long: `Answer predictions over HTTP. A model is called by the base name of its file unless a name is
given. A program asks by the Open Inference Protocol (KServe v2), at /v2/models/NAME/infer, or
posts JSON rows or CSV to /models/NAME/predict, or to /predict where there is a single model;
a person opens / in a browser. With --grpc the protocol is spoken by gRPC, too. Prometheus asks at /metrics. Requests that come at the same
time are computed together; those that find the queue full are told so with status 429.

A file that changes is loaded again. If it cannot be, the model before it goes on answering.
SIGHUP loads all files at once. SIGTERM and Ctrl-C let the requests at hand end.

With the variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, requests are traced.

Without --listen only programs on this machine are answered. With --token-file a client must
send one of the tokens in the file, one in each line, as "Authorization: Bearer TOKEN".`,
		Example: "  valla serve --model houses.valla --listen 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    running(c.run),
	}
	c.flags(cmd.Flags())
	return cmd
}

func (c *serveCommand) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&c.models, "model", nil, "`[NAME=]FILE` of a model; may be repeated")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`ADDRESS` and port; port 0 is any that is free")
	f.StringVar(&c.grpc, "grpc", "", "`ADDRESS` and port where the protocol is spoken by gRPC, too; port 0 is any that is free")
	f.IntVar(&c.o.MaxRows, "max-rows", 10_000, "largest `NUMBER` of rows of a request")
	c.bodies = 16 << 20
	f.Var(&c.bodies, "max-body", "largest body of a request")
	f.DurationVar(&c.o.Timeout, "timeout", 10*time.Second, "longest `TIME` until a request has its answer")
	f.IntVar(&c.o.Queue, "queue", 256, "`NUMBER` of requests that may wait or be computed, for each model")
	f.IntVar(&c.o.BatchRows, "batch-rows", 512, "`NUMBER` of rows that are computed together, about")
	f.DurationVar(&c.o.BatchDelay, "batch-delay", 0, "`TIME` that a request waits for others")
	f.DurationVar(&c.o.Reload, "reload", 2*time.Second, "`TIME` between two looks at the files; below 0 is never")
	c.memory = 1 << 30
	f.Var(&c.memory, "memory", "memory for compiled predictions of a model")
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` of tokens, one of which clients must send")
	f.StringVar(&c.cert, "tls-cert", "", "`FILE` of the certificate; read again when it changes")
	f.StringVar(&c.key, "tls-key", "", "`FILE` of the certificate's key")
	f.StringVar(&c.log, "log", "text", "`FORM` of the log on standard error: text, json or off")
	f.BoolVar(&c.o.PProf, "pprof", false, "serve profiles at /debug/pprof/")
	f.DurationVar(&c.grace, "grace", 0, "`TIME` in which new requests are refused before the end, so that a balancer notices")
	f.DurationVar(&c.patience, "patience", 20*time.Second, "longest `TIME` that the end waits for requests at hand")
}

func (c *serveCommand) run(cmd *cobra.Command, _ []string) error {
	if err := c.complete(); err != nil {
		return err
	}
	if err := c.logTo(cmd.ErrOrStderr()); err != nil {
		return err
	}
	ctx := cmd.Context()
	end, err := c.traces(ctx)
	if err != nil {
		return err
	}
	defer end()
	l, addresses, err := c.listeners()
	if l.HTTP != nil {
		defer l.HTTP.Close()
	}
	if l.GRPC != nil {
		defer l.GRPC.Close()
	}
	if err != nil {
		return err
	}
	s, err := serve.New(c.o)
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for range hup {
			s.Reload(ctx, true)
		}
	}()
	return s.Run(ctx, l, c.grace, c.patience, func() { fmt.Fprint(cmd.OutOrStdout(), addresses) })
}

// logTo sets the log, which never is nil.
func (c *serveCommand) logTo(w io.Writer) error {
	switch c.log {
	case "text":
		c.o.Log = slog.New(slog.NewTextHandler(w, nil))
	case "json":
		c.o.Log = slog.New(slog.NewJSONHandler(w, nil))
	case "off":
		c.o.Log = slog.New(slog.DiscardHandler)
	default:
		return settings.Errorf("--log %q, expected text, json or off", c.log)
	}
	return nil
}

// listeners opens the addresses, with certificates if there are any, and lists them.
func (c *serveCommand) listeners() (l serve.Listeners, addresses string, err error) {
	keys := &certificate{cert: c.cert, key: c.key}
	if c.cert != "" {
		if _, err := keys.get(nil); err != nil {
			return l, "", fmt.Errorf("--tls-cert: %w", err)
		}
	}
	open := func(flag, address, scheme, protocol string) net.Listener {
		if err != nil || address == "" {
			return nil
		}
		var n net.Listener
		if n, err = net.Listen("tcp", address); err != nil {
			err = fmt.Errorf("--%s: %w", flag, err)
			return nil
		}
		if c.cert != "" {
			n = tls.NewListener(n, &tls.Config{GetCertificate: keys.get, NextProtos: []string{protocol}})
			scheme += "s"
		}
		addresses += fmt.Sprintf("%s://%s\n", scheme, n.Addr())
		return n
	}
	l.HTTP = open("listen", c.listen, "http", "http/1.1")
	l.GRPC = open("grpc", c.grpc, "grpc", "h2")
	return l, addresses, err
}

// complete checks the flags and fills in the options.
func (c *serveCommand) complete() error {
	if len(c.models) == 0 {
		return settings.Errorf("no --model, expected at least one")
	}
	for _, m := range c.models {
		name, path, given := strings.Cut(m, "=")
		if !given {
			path = m
			name = strings.TrimSuffix(filepath.Base(m), filepath.Ext(m))
		}
		c.o.Models = append(c.o.Models, serve.Source{Name: name, Path: path})
	}
	if (c.cert == "") != (c.key == "") {
		return settings.Errorf("--tls-cert and --tls-key, expected both or neither")
	}
	for name, v := range map[string]int64{"max-rows": int64(c.o.MaxRows), "timeout": int64(c.o.Timeout), "queue": int64(c.o.Queue), "batch-rows": int64(c.o.BatchRows), "max-body": int64(c.bodies), "memory": int64(c.memory)} {
		if v < 1 {
			return settings.Errorf("--%s %d, expected a positive number", name, v)
		}
	}
	if c.o.BatchDelay < 0 || c.grace < 0 || c.patience < 0 {
		return settings.Errorf("--batch-delay %v, --grace %v, --patience %v, expected none below 0", c.o.BatchDelay, c.grace, c.patience)
	}
	c.o.Memory, c.o.MaxBytes = int64(c.memory), int64(c.bodies)
	if c.tokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	if c.o.Tokens = strings.Fields(string(text)); len(c.o.Tokens) == 0 {
		return fmt.Errorf("--token-file: %s: no tokens, expected one in each line", c.tokenFile)
	}
	return nil
}

// certificate is one on disk, read again when its file changes.
type certificate struct {
	cert, key string
	now       atomic.Pointer[loadedCertificate]
}

type loadedCertificate struct {
	tls.Certificate
	modified time.Time
}

// get returns the certificate. A new one that cannot be read is not used.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now := c.now.Load()
	info, err := os.Stat(c.cert)
	if err == nil && now != nil && info.ModTime().Equal(now.modified) {
		return &now.Certificate, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	switch {
	case err == nil:
		now = &loadedCertificate{pair, info.ModTime()}
		c.now.Store(now)
	case now == nil:
		return nil, err
	}
	return &now.Certificate, nil
}
