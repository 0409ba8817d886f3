package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// GRPC returns a server that speaks the protocol by gRPC, with the queues, limits, tokens and errors
// of s. It takes connections with and without TLS.
func (s *Server) GRPC() *http.Server {
	g := grpc.NewServer(grpc.UnaryInterceptor(s.intercept), grpc.StreamInterceptor(s.interceptStream), grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)}),
		grpc.MaxRecvMsgSize(int(min(s.o.MaxBytes, math.MaxInt32))), grpc.MaxSendMsgSize(math.MaxInt32))
	g.RegisterService(service(), &inference{s: s})
	h := &http.Server{
		Handler: arrivals(g, s.budget), Protocols: new(http.Protocols), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10,
		ReadTimeout: s.o.Timeout + 20*time.Second, WriteTimeout: s.o.Timeout + slowClient, IdleTimeout: 2 * time.Minute,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: min(s.o.Queue, math.MaxInt32), MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 1 << 20},
	}
	h.Protocols.SetHTTP2(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	return h
}

// service describes the service. ModelInfer is a stream of one answer, which is the same to clients as a single answer, but
// its handler takes the memory of the request before it is decoded and keeps it until the answer is sent.
func service() *grpc.ServiceDesc {
	d := oip.GRPCInferenceService_ServiceDesc
	d.Methods = slices.DeleteFunc(slices.Clone(d.Methods), func(m grpc.MethodDesc) bool { return m.MethodName == "ModelInfer" })
	d.Streams = []grpc.StreamDesc{{StreamName: "ModelInfer", ServerStreams: true, Handler: func(i any, stream grpc.ServerStream) error { return i.(*inference).infer(stream) }}}
	return &d
}

// codesOf maps statuses of HTTP to codes of gRPC.
var codesOf = map[int]codes.Code{
	http.StatusBadRequest: codes.InvalidArgument, http.StatusUnauthorized: codes.Unauthenticated, http.StatusNotFound: codes.NotFound,
	http.StatusRequestEntityTooLarge: codes.InvalidArgument, http.StatusTooManyRequests: codes.ResourceExhausted,
	http.StatusRequestTimeout: codes.DeadlineExceeded, http.StatusInternalServerError: codes.Internal, http.StatusServiceUnavailable: codes.Unavailable, statusClosed: codes.Canceled,
}

// intercept guards requests with one answer.
func (s *Server) intercept(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	err = s.guard(ctx, info.FullMethod, func() (err error) {
		out, err = next(ctx, in)
		return err
	})
	return out, err
}

// interceptStream guards streams.
func (s *Server) interceptStream(i any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return s.guard(stream.Context(), info.FullMethod, func() error { return next(i, stream) })
}

// logged is an error that the log has already.
type logged struct{ error }

// Unwrap returns the error.
func (l logged) Unwrap() error { return l.error }

// guard refuses requests without a token, except requests for the health, logs refusals, and turns errors into
// errors of gRPC. As in net/http, a panic ends one request and not the server.
func (s *Server) guard(ctx context.Context, method string, next func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("panic", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "the request failed")
		}
	}()
	open := method == oip.GRPCInferenceService_ServerLive_FullMethodName || method == oip.GRPCInferenceService_ServerReady_FullMethodName
	err = errToken
	if open || s.known(header(ctx, "authorization")) {
		err = next()
	}
	if err != nil {
		number, message := statusOf(err)
		if !errors.As(err, new(logged)) {
			s.o.Log.Info("refused", "id", header(ctx, "x-request-id"), "method", method, "status", number, "from", clientOf(ctx), "error", message)
		}
		return status.Error(codesOf[number], message)
	}
	return nil
}

// header returns the value of a client's header, or "" where the header is absent.
func header(ctx context.Context, name string) string {
	for _, v := range metadata.ValueFromIncomingContext(ctx, name) {
		return v
	}
	return ""
}

// clientOf returns the address of a client, or "" where it is not known.
func clientOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// inference is the gRPC service of a server.
type inference struct {
	oip.UnimplementedGRPCInferenceServiceServer
	s *Server // answers the requests
}

// ServerLive implements the service.
func (i *inference) ServerLive(context.Context, *oip.ServerLiveRequest) (*oip.ServerLiveResponse, error) {
	return &oip.ServerLiveResponse{Live: true}, nil
}

// ServerReady implements the service.
func (i *inference) ServerReady(context.Context, *oip.ServerReadyRequest) (*oip.ServerReadyResponse, error) {
	return &oip.ServerReadyResponse{Ready: i.s.ready() == nil}, nil
}

// ModelReady implements the service.
func (i *inference) ModelReady(_ context.Context, r *oip.ModelReadyRequest) (*oip.ModelReadyResponse, error) {
	v, err := i.s.version(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	defer v.release()
	return &oip.ModelReadyResponse{Ready: true}, nil
}

// ServerMetadata implements the service.
func (i *inference) ServerMetadata(context.Context, *oip.ServerMetadataRequest) (*oip.ServerMetadataResponse, error) {
	return serverMetadata(), nil
}

// ModelMetadata implements the service.
func (i *inference) ModelMetadata(_ context.Context, r *oip.ModelMetadataRequest) (*oip.ModelMetadataResponse, error) {
	v, err := i.s.version(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.metadata(), nil
}

// infer answers the request of a stream.
func (i *inference) infer(stream grpc.ServerStream) error {
	ctx := stream.Context()
	in := &message{memory: share{of: i.s.budget}}
	if err := in.receive(stream); err != nil {
		return err
	}
	q := &request{id: requestID(header(ctx, "x-request-id")), memory: in.memory}
	defer q.memory.free()
	out, err := i.answer(ctx, q, &in.request)
	if err != nil {
		return err
	}
	return i.sent(stream, out)
}

// sent sends an answer within the limit of time for slow clients.
func (i *inference) sent(stream grpc.ServerStream, out *oip.ModelInferResponse) error {
	end := make(chan error, 1)
	go func() { end <- stream.SendMsg(out) }()
	select {
	case err := <-end:
		return err
	case <-time.After(i.s.o.Timeout + slowClient):
		return context.DeadlineExceeded // the end of the stream ends SendMsg
	}
}

// answer returns the answer to a request.
func (i *inference) answer(ctx context.Context, q *request, r *oip.ModelInferRequest) (out *oip.ModelInferResponse, err error) {
	h, err := i.s.find(r.ModelName)
	if err != nil {
		return nil, err
	}
	q.from = clientOf(ctx)
	trace := propagation.MapCarrier{}
	for _, name := range propagator.Fields() {
		trace[name] = header(ctx, name)
	}
	err = i.s.counted(propagator.Extract(ctx, trace), h, q, func() error {
		return q.holding(h, r.ModelVersion, func(q *request) error {
			in, err := inferOf(r)
			if err != nil {
				return err
			}
			response, err := i.s.inferred(q, in)
			if err == nil {
				out = response.message(len(r.RawInputContents) > 0)
			}
			return err
		})
	})
	if err != nil {
		err = logged{err}
	}
	return out, err
}

// inferOf turns a request of gRPC into a request of REST.
func inferOf(r *oip.ModelInferRequest) (*inferRequest, error) {
	out := &inferRequest{ID: r.Id, Parameters: parameters(r.Parameters)}
	if raw := len(r.RawInputContents); raw > 0 && raw != len(r.Inputs) {
		return nil, fmt.Errorf("%d raw contents, expected one for each of the %d inputs", raw, len(r.Inputs))
	}
	for i, t := range r.Inputs {
		in := inputTensor{Name: t.Name, Datatype: t.Datatype, Shape: converted[int](t.Shape)}
		if len(r.RawInputContents) > 0 {
			in.raw = append([]byte{}, r.RawInputContents[i]...)
		} else {
			in.typed = contents(t.Datatype, t.Contents)
		}
		out.Inputs = append(out.Inputs, in)
	}
	for _, o := range r.Outputs {
		out.Outputs = append(out.Outputs, requestOutput{Name: o.Name, Parameters: parameters(o.Parameters)})
	}
	return out, nil
}

// parameters turns parameters of gRPC into parameters of REST, and returns nil if there are none.
func parameters(of map[string]*oip.InferParameter) map[string]any {
	var out map[string]any
	for name, p := range of {
		if out == nil {
			out = map[string]any{}
		}
		switch v := p.GetParameterChoice().(type) {
		case *oip.InferParameter_BoolParam:
			out[name] = v.BoolParam
		case *oip.InferParameter_Int64Param:
			out[name] = float64(v.Int64Param)
		case *oip.InferParameter_Uint64Param:
			out[name] = float64(v.Uint64Param)
		case *oip.InferParameter_DoubleParam:
			out[name] = v.DoubleParam
		case *oip.InferParameter_StringParam:
			out[name] = v.StringParam
		}
	}
	return out
}

// contents returns the elements of a tensor of a datatype. Tensors of FP16 have raw contents only.
func contents(datatype string, c *oip.InferTensorContents) *cells {
	out := &cells{}
	switch datatype {
	case "BOOL":
		for _, v := range c.GetBoolContents() {
			out.numbers = append(out.numbers, number(v))
		}
	case "INT8", "INT16", "INT32":
		out.numbers = converted[float64](c.GetIntContents())
	case "INT64":
		out.numbers = converted[float64](c.GetInt64Contents())
	case "UINT8", "UINT16", "UINT32":
		out.numbers = converted[float64](c.GetUintContents())
	case "UINT64":
		out.numbers = converted[float64](c.GetUint64Contents())
	case "FP32":
		out.numbers = converted[float64](c.GetFp32Contents())
	case "FP64":
		out.numbers = c.GetFp64Contents()
	case "BYTES":
		out.words = []string{}
		for _, v := range c.GetBytesContents() {
			out.words = append(out.words, string(v))
		}
	}
	return out
}

// converted returns the numbers v as numbers of the type To.
func converted[To, From int | int32 | int64 | uint32 | uint64 | float32 | float64](v []From) []To {
	out := make([]To, len(v))
	for i, x := range v {
		out[i] = To(x)
	}
	return out
}

// message returns the response for gRPC, with raw contents if raw is true.
func (r *inferResponse) message(raw bool) *oip.ModelInferResponse {
	out := &oip.ModelInferResponse{ModelName: r.ModelName, ModelVersion: r.ModelVersion, Id: r.ID}
	for _, t := range r.Outputs {
		o := &oip.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: t.Datatype, Shape: converted[int64](t.Shape)}
		out.Outputs = append(out.Outputs, o)
		if raw {
			b := &blocks{whole: true}
			b.raw(t.Data)
			out.RawOutputContents = append(out.RawOutputContents, b.block)
			continue
		}
		o.Contents = &oip.InferTensorContents{}
		switch v := t.Data.(type) {
		case []float64:
			o.Contents.Fp64Contents = v
		case []string:
			for _, s := range v {
				o.Contents.BytesContents = append(o.Contents.BytesContents, []byte(s))
			}
		}
	}
	return out
}
