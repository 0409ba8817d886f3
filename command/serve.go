package command

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla/command/internal/serve"
	"github.com/go-valla/valla/internal/ram"
	"github.com/go-valla/valla/internal/settings"
)

// serveCommand is the command line of valla serve.
type serveCommand struct {
	o         serve.Options // options of the server
	models    []string      // models as [NAME=]FILE
	listen    string        // address for HTTP
	grpc      string        // address for gRPC; "" means none
	tokenFile string        // path of the tokens; "" means none
	cert      string        // path of the certificate; "" means none
	key       string        // path of the certificate's key
	log       string        // form of the log
	memory    memory        // bytes for compiled predictions of a model
	bodies    memory        // most bytes of a body
	answers   memory        // most bytes of an answer
	engine    engine        // what computes predictions
	grace     time.Duration // time in which new requests are refused before the end
	patience  time.Duration // longest time for unanswered requests at the end
}

func newServe() *cobra.Command {
	c := &serveCommand{}
	cmd := &cobra.Command{
		Use:   "serve --model [NAME=]FILE...",
		Short: "Answer predictions over HTTP",
		Long: `Answer predictions over HTTP. A model is called by the base name of its file unless a name is
given. A program asks by the Open Inference Protocol (KServe v2), at /v2/models/NAME/infer, or
posts JSON rows or CSV to /models/NAME/predict, or to /predict where there is a single model;
a person opens / in a browser. With --grpc the server also speaks the protocol by gRPC. Prometheus
reads /metrics. Requests that come at the same time are computed together. A request that finds the
queue full gets the status 429.

With --outcomes clients post labels to /models/NAME/outcomes, by the id of a request or with the row.
The intervals of the level --outcome-level then adapt, so that they hold it whatever happens to the
data. Labels are on the disk before their answer. A browser shows the last weeks at /outcomes.

A file that changes is loaded again. If that fails, the model before goes on answering. SIGHUP loads
all files at once. After SIGTERM or Ctrl-C the server answers the requests that it has, and ends.

With the variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, requests are traced.

Without --listen only programs on this machine can connect. With --token-file a client must
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
	c.engine.flags(f)
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`ADDRESS` and port for HTTP; port 0 means any free port")
	f.StringVar(&c.grpc, "grpc", "", "`ADDRESS` and port for gRPC; port 0 means any free port (default none)")
	f.IntVar(&c.o.MaxRows, "max-rows", 10_000, "largest `NUMBER` of rows of a request")
	c.bodies = 16 << 20
	f.Var(&c.bodies, "max-body", "largest body of a request")
	f.Var(&c.answers, "max-answer", "largest memory of a request with its answer, planned before any work; all requests together take at most four times as much (default a sixteenth of the free memory, at most 256 MiB)")
	f.DurationVar(&c.o.Timeout, "timeout", 10*time.Second, "longest `TIME` until a request has its answer")
	f.IntVar(&c.o.Queue, "queue", 256, "largest `NUMBER` of unanswered requests to each model")
	f.IntVar(&c.o.BatchRows, "batch-rows", 512, "`NUMBER` of rows that are computed together, approximately")
	f.DurationVar(&c.o.BatchDelay, "batch-delay", 0, "`TIME` that a request waits for other requests")
	f.StringVar(&c.o.Outcomes, "outcomes", "", "`FOLDER` for labels that come back, by which intervals adapt (default none)")
	f.Float64Var(&c.o.OutcomeLevel, "outcome-level", 0.95, "`PROBABILITY` of the intervals that adapt")
	f.IntVar(&c.o.OutcomeRows, "outcome-rows", 100_000, "`NUMBER` of the last labels of a version that are kept on the disk, at most twice as many, and of its predicted rows that wait for labels")
	f.DurationVar(&c.o.Reload, "reload", 2*time.Second, "`TIME` between two checks of the files; below 0 means never")
	f.Var(&c.memory, "memory", "memory for compiled predictions of a model (default a quarter of the free memory, at most 1 GiB)")
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` of tokens, one of which clients must send")
	f.StringVar(&c.cert, "tls-cert", "", "`FILE` of the TLS certificate; read again when the file changes")
	f.StringVar(&c.key, "tls-key", "", "`FILE` of the key of the TLS certificate")
	f.StringVar(&c.log, "log", "text", "`FORM` of the log on standard error: text, json or off")
	f.BoolVar(&c.o.PProf, "pprof", false, "serve profiles at /debug/pprof/")
	f.DurationVar(&c.grace, "grace", 0, "`TIME` before the end in which new requests are refused, so that a balancer notices")
	f.DurationVar(&c.patience, "patience", 20*time.Second, "longest `TIME` to wait for unanswered requests at the end")
}

func (c *serveCommand) run(cmd *cobra.Command, _ []string) error {
	if err := cmp.Or(c.checkOutcomes(cmd), c.complete()); err != nil {
		return err
	}
	if err := c.logTo(cmd.ErrOrStderr()); err != nil {
		return err
	}
	boundMemory()
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

// boundMemory bounds the memory of the runtime by the free memory, unless GOMEMLIMIT does, so that the runtime collects
// garbage before the system or a container ends the process.
func boundMemory() {
	if left := ram.Available(); left < math.MaxInt64 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(ram.Taken() + left/10*9)
	}
}

// logTo sets the log, which goes to w.
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

// listeners opens the addresses, with the certificate if there is one, and returns their texts.
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

// mostQueue is the largest number of unanswered requests to a model. A queue has room for all of them from the start.
const mostQueue = 1 << 20

// complete checks the flags and fills in the options.
func (c *serveCommand) complete() error {
	if len(c.models) == 0 {
		return settings.Errorf("no --model, expected at least one")
	}
	var err error
	if c.o.Runtime, err = c.engine.runtime(); err != nil {
		return err
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
	if err := c.checkLimits(); err != nil {
		return err
	}
	c.o.Memory, c.o.MaxBytes, c.o.MaxAnswer = int64(c.memory), int64(c.bodies), int64(c.answers)
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

// checkOutcomes returns an error if flags about labels are given without the folder, or with a level that is none.
func (c *serveCommand) checkOutcomes(cmd *cobra.Command) error {
	for _, name := range []string{"outcome-level", "outcome-rows"} {
		if c.o.Outcomes == "" && cmd.Flags().Changed(name) {
			return settings.Errorf("--%s goes with --outcomes", name)
		}
	}
	if !(c.o.OutcomeLevel > 0 && c.o.OutcomeLevel < 1) {
		return settings.Errorf("--outcome-level %g, expected a probability above 0 and below 1", c.o.OutcomeLevel)
	}
	return nil
}

// checkLimits checks the flags that are numbers and durations.
func (c *serveCommand) checkLimits() error {
	if c.o.Timeout <= 0 {
		return settings.Errorf("--timeout %v, expected a time above 0", c.o.Timeout)
	}
	for name, v := range map[string]int64{"max-rows": int64(c.o.MaxRows), "queue": int64(c.o.Queue), "batch-rows": int64(c.o.BatchRows), "max-body": int64(c.bodies), "outcome-rows": int64(c.o.OutcomeRows)} {
		if v < 1 {
			return settings.Errorf("--%s %d, expected a positive number", name, v)
		}
	}
	if c.o.Queue > mostQueue {
		return settings.Errorf("--queue %d, expected at most %d", c.o.Queue, mostQueue)
	}
	if c.o.Reload == 0 {
		return settings.Errorf("--reload 0, expected a time above 0, or below 0 for never")
	}
	if c.o.BatchDelay < 0 || c.grace < 0 || c.patience < 0 {
		return settings.Errorf("--batch-delay %v, --grace %v, --patience %v, expected none below 0", c.o.BatchDelay, c.grace, c.patience)
	}
	if c.grace > longestGrace {
		return settings.Errorf("--grace %v, expected at most %v", c.grace, longestGrace)
	}
	return nil
}

// longestGrace is the longest time in which a server that ends goes on answering.
const longestGrace = time.Hour

// certificate is a TLS certificate on disk, which is read again when its file changes.
type certificate struct {
	cert string                            // path of the certificate
	key  string                            // path of the key
	now  atomic.Pointer[loadedCertificate] // certificate in use
}

// loadedCertificate is a certificate with the time when its file had changed.
type loadedCertificate struct {
	tls.Certificate
	modified time.Time // time of the last change of the file
}

// get returns the certificate. If a new file cannot be read, get returns the certificate before.
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
