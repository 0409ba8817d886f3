package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// GRPC returns a server that speaks the protocol by gRPC, with the queues, limits, tokens and errors
// of s.
func (s *Server) GRPC() *grpc.Server {
	g := grpc.NewServer(grpc.UnaryInterceptor(s.intercept), grpc.MaxRecvMsgSize(int(min(s.o.MaxBytes, math.MaxInt32))), grpc.MaxSendMsgSize(math.MaxInt32))
	oip.RegisterGRPCInferenceServiceServer(g, &inference{s: s})
	return g
}

// codesOf maps statuses of HTTP to codes of gRPC.
var codesOf = map[int]codes.Code{
	http.StatusBadRequest: codes.InvalidArgument, http.StatusUnauthorized: codes.Unauthenticated, http.StatusNotFound: codes.NotFound,
	http.StatusRequestEntityTooLarge: codes.InvalidArgument, http.StatusTooManyRequests: codes.ResourceExhausted,
	http.StatusRequestTimeout: codes.DeadlineExceeded, http.StatusInternalServerError: codes.Internal, http.StatusServiceUnavailable: codes.Unavailable, statusClosed: codes.Canceled,
}

// intercept refuses requests without a token, except requests for the health, and turns errors into
// errors of gRPC. As in net/http, a panic ends one request and not the server.
func (s *Server) intercept(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("panic", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
			out, err = nil, status.Error(codes.Internal, "the request failed")
		}
	}()
	open := info.FullMethod == oip.GRPCInferenceService_ServerLive_FullMethodName || info.FullMethod == oip.GRPCInferenceService_ServerReady_FullMethodName
	err = errToken
	if open || s.known(header(ctx, "authorization")) {
		out, err = next(ctx, in)
	}
	if err != nil {
		number, message := statusOf(err)
		return nil, status.Error(codesOf[number], message)
	}
	return out, nil
}

// header returns the value of a client's header, or "" where the header is absent.
func header(ctx context.Context, name string) string {
	for _, v := range metadata.ValueFromIncomingContext(ctx, name) {
		return v
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

// ModelInfer implements the service.
func (i *inference) ModelInfer(ctx context.Context, r *oip.ModelInferRequest) (*oip.ModelInferResponse, error) {
	h, err := i.s.find(r.ModelName)
	if err != nil {
		return nil, err
	}
	q := &request{id: requestID(header(ctx, "x-request-id"))}
	if p, ok := peer.FromContext(ctx); ok {
		q.from = p.Addr.String()
	}
	trace := propagation.MapCarrier{}
	for _, name := range propagator.Fields() {
		trace[name] = header(ctx, name)
	}
	var out *inferResponse
	err = i.s.counted(propagator.Extract(ctx, trace), h, q, func() error {
		return q.holding(h, r.ModelVersion, func(q *request) error {
			in, err := inferOf(r)
			if err == nil {
				out, err = i.s.inferred(q, in)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out.message(len(r.RawInputContents) > 0), nil
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
			out.RawOutputContents = append(out.RawOutputContents, t.bytes())
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

// bytes returns the elements in the encoding of the binary extension.
func (t *outputTensor) bytes() (out []byte) {
	switch v := t.Data.(type) {
	case []float64:
		for _, x := range v {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
		}
	case []string:
		for _, s := range v {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(s))), s...)
		}
	}
	return out
}
