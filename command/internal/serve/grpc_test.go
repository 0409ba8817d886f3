package serve

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// dialed is a client of a server's gRPC, generated from the protocol's definition.
func (r *running) dialed() oip.GRPCInferenceServiceClient {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	g := r.Server.GRPC()
	go func() { _ = g.Serve(l) }()
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close(); g.Close() })
	return oip.NewGRPCInferenceServiceClient(c)
}

func fp64(name string, v ...float64) *oip.ModelInferRequest_InferInputTensor {
	return &oip.ModelInferRequest_InferInputTensor{Name: name, Datatype: "FP64", Shape: []int64{int64(len(v))}, Contents: &oip.InferTensorContents{Fp64Contents: v}}
}

// TestGRPC: gRPC has the answers, the tokens and the errors of REST.
func TestGRPC(t *testing.T) {
	r := start(t, func(o *Options) { o.Tokens, o.MaxRows = []string{"secret"}, 3 })
	c := r.dialed()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer secret", "x-request-id", "7")
	b := &oip.ModelInferRequest_InferInputTensor{Name: "b", Datatype: "INT32", Shape: []int64{2}, Contents: &oip.InferTensorContents{IntContents: []int32{90, 130}}}
	got, err := c.ModelInfer(ctx, &oip.ModelInferRequest{ModelName: "pairs", Id: "x", Inputs: []*oip.ModelInferRequest_InferInputTensor{fp64("a", 0.5, -1), b}})
	if err != nil {
		t.Fatal(err)
	}
	want := r.predicted("pairs", 0.5, 90, -1, 130)
	same(t, "mean", got.Outputs[0].Contents.Fp64Contents, want.Mean)
	same(t, "std", got.Outputs[1].Contents.Fp64Contents, want.Std())
	if got.Id != "x" || got.ModelVersion != r.Server.models[1].present() || len(got.Outputs) != 3 || got.Outputs[0].Shape[1] != 2 {
		t.Errorf("answer %v", got)
	}
	words := &oip.ModelInferRequest_InferInputTensor{Name: "b", Datatype: "BYTES", Shape: []int64{2}, Contents: &oip.InferTensorContents{BytesContents: [][]byte{[]byte("90"), []byte("130")}}}
	got, err = c.ModelInfer(ctx, &oip.ModelInferRequest{ModelName: "classes", Inputs: []*oip.ModelInferRequest_InferInputTensor{fp64("a", 0.5, -1), words}})
	if err != nil {
		t.Fatal(err)
	}
	classes := r.predicted("classes", 0.5, 90, -1, 130)
	same(t, "probabilities", got.Outputs[0].Contents.Fp64Contents, classes.Probs)
	if class := string(got.Outputs[1].Contents.BytesContents[1]); class != classes.ClassName(classes.Best()[1]) {
		t.Errorf("class %q", class)
	}
	var raw []byte
	for _, v := range []float32{0.5, 90} {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	got, err = c.ModelInfer(ctx, &oip.ModelInferRequest{
		ModelName: "numbers", RawInputContents: [][]byte{raw}, Inputs: []*oip.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 2}}},
		Outputs: []*oip.ModelInferRequest_InferRequestedOutputTensor{{Name: "quantiles", Parameters: map[string]*oip.InferParameter{"levels": {ParameterChoice: &oip.InferParameter_StringParam{StringParam: "0.5, 0.9"}}}}},
	})
	if err != nil || len(got.RawOutputContents) != 1 || len(got.RawOutputContents[0]) != 16 {
		t.Fatalf("answer %v, error %v", got, err)
	}
	same(t, "median", []float64{math.Float64frombits(binary.LittleEndian.Uint64(got.RawOutputContents[0]))}, r.predicted("numbers", 0.5, 90).Mean)
	about, err := c.ModelMetadata(ctx, &oip.ModelMetadataRequest{Name: "numbers"})
	if err != nil || len(about.Inputs) != 2 || about.Inputs[1].Name != "b" || about.Properties["targets"] != "y" {
		t.Errorf("metadata %v, error %v", about, err)
	}
	if !strings.Contains(r.metricsOf(), `valla_requests_total{model="pairs",status="200"} 1`) {
		t.Error("the metrics do not count the request")
	}
}

// metricsOf are the metrics of a server with a token.
func (r *running) metricsOf() string {
	_, body := r.send("GET", "/metrics", "", nil, "Authorization", "Bearer secret")
	return string(body)
}

// lines is a log.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// failed returns the next line with an error, which may come after the answer.
func (l lines) failed(t *testing.T) string {
	t.Helper()
	for end := time.After(10 * time.Second); ; {
		select {
		case line := <-l:
			if strings.Contains(line, "error=") {
				return line
			}
		case <-end:
			t.Fatal("no line of the log")
		}
	}
}

// TestGRPCRefusals: each error has a code, the sentence of REST and a line of the log.
func TestGRPCRefusals(t *testing.T) {
	log := make(lines, 100)
	r := start(t, func(o *Options) {
		o.Tokens, o.MaxRows, o.MaxBytes, o.Log = []string{"secret"}, 3, 2000, slog.New(slog.NewTextHandler(log, nil))
	}, "numbers")
	c := r.dialed()
	known := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer secret")
	refused := func(code codes.Code, want string, err error) {
		t.Helper()
		if line := log.failed(t); !strings.Contains(strings.ReplaceAll(line, `\`, ""), want) {
			t.Errorf("log %s, expected %q", line, want)
		}
		if s := status.Convert(err); s.Code() != code || !strings.Contains(s.Message(), want) {
			t.Errorf("error %v, expected %v with %q", err, code, want)
		}
	}
	infer := func(ctx context.Context, model string, in ...*oip.ModelInferRequest_InferInputTensor) error {
		_, err := c.ModelInfer(ctx, &oip.ModelInferRequest{ModelName: model, Inputs: in})
		return err
	}
	refused(codes.Unauthenticated, "expected a known token", infer(t.Context(), "numbers"))
	refused(codes.NotFound, `model "none", expected one of "numbers"`, infer(known, "none"))
	refused(codes.InvalidArgument, "no inputs", infer(known, "numbers"))
	refused(codes.InvalidArgument, `no column "b"`, infer(known, "numbers", fp64("a", 1)))
	refused(codes.InvalidArgument, `row 0 (counting from 0), column "b": expected a finite number`, infer(known, "numbers", fp64("a", 1), fp64("b", math.NaN())))
	refused(codes.InvalidArgument, `input "b": 0 elements, expected 1`, infer(known, "numbers", fp64("a", 1), &oip.ModelInferRequest_InferInputTensor{Name: "b", Datatype: "FP64", Shape: []int64{1}}))
	refused(codes.InvalidArgument, "4 rows, expected at most 3", infer(known, "numbers", &oip.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "FP64", Shape: []int64{4, 2}}))
	refused(codes.ResourceExhausted, "larger than max", infer(known, "numbers", fp64("a", make([]float64, 300)...)))
	_, err := c.ModelInfer(known, &oip.ModelInferRequest{ModelName: "numbers", RawInputContents: [][]byte{nil}})
	refused(codes.InvalidArgument, "1 raw contents", err)
	_, err = c.ModelReady(known, &oip.ModelReadyRequest{Name: "numbers", Version: "1"})
	refused(codes.NotFound, "has the version", err)
	for _, call := range []func() (bool, error){
		func() (bool, error) { a, err := c.ServerLive(t.Context(), nil); return a.GetLive(), err },
		func() (bool, error) { a, err := c.ServerReady(t.Context(), nil); return a.GetReady(), err },
		func() (bool, error) {
			a, err := c.ModelReady(known, &oip.ModelReadyRequest{Name: "numbers"})
			return a.GetReady(), err
		},
	} {
		if yes, err := call(); !yes || err != nil {
			t.Errorf("ready %v, error %v", yes, err)
		}
	}
	v := r.Server.models[0].current
	v.queue.close() // nothing is computed any more
	v.queue.jobs = make(chan *job, 1)
	v.queue.jobs <- &job{}
	refused(codes.ResourceExhausted, "the queue is full", infer(known, "numbers", fp64("a", 1), fp64("b", 1)))
	v.queue.jobs = make(chan *job)
	r.Server.draining.Store(true)
	refused(codes.Unavailable, "the server is shutting down", infer(known, "numbers", fp64("a", 1), fp64("b", 1)))
	if len(log) > 0 {
		t.Errorf("a further line: %s", <-log)
	}
}

// TestGRPCEnd: a server that is told to end lets go of its clients of gRPC.
func TestGRPCEnd(t *testing.T) {
	r := start(t, nil, "numbers")
	var l [2]net.Listener
	for i := range l {
		var err error
		if l[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Server.Run(ctx, Listeners{HTTP: l[0], GRPC: l[1]}, 0, 10*time.Second, func() {}) }()
	conn, err := grpc.NewClient(l[1].Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if a, err := oip.NewGRPCInferenceServiceClient(conn).ServerLive(t.Context(), &oip.ServerLiveRequest{}); err != nil || !a.Live {
		t.Errorf("live %v, error %v", a, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("error %v", err)
	}
}
