package serve

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// stalled sends the start of a message of size bytes to the gRPC of a server, of which sent bytes arrive. It returns the
// client's side of the body, and a channel that receives the code of the answer.
func (r *running) stalled(address string, size, sent int) (body *io.PipeWriter, code chan string) {
	h := &http.Transport{Protocols: new(http.Protocols)}
	h.Protocols.SetUnencryptedHTTP2(true)
	read, body := io.Pipe()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+address+oip.GRPCInferenceService_ModelInfer_FullMethodName, read)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/grpc")
	code = make(chan string, 1)
	go func() {
		a, err := h.RoundTrip(q)
		if err != nil {
			code <- err.Error()
			return
		}
		defer a.Body.Close()
		_, _ = io.Copy(io.Discard, a.Body) // the trailer follows
		code <- a.Trailer.Get("Grpc-Status") + a.Header.Get("Grpc-Status")
	}()
	go func() {
		message := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
		_, _ = body.Write(append(message, make([]byte, sent)...)) // a refusal ends the request
	}()
	return body, code
}

// taken waits until requests have taken from least to most bytes.
func (r *running) taken(least, most int64) {
	r.t.Helper()
	for range 2000 {
		if taken := r.Server.budget.taken.Load(); least <= taken && taken <= most {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.t.Errorf("requests have taken %d bytes, expected %d to %d", r.Server.budget.taken.Load(), least, most)
}

// TestGRPCArriving: the bytes of messages count while they arrive. Messages that do not fit are refused before they are
// there, and the memory is free when their clients are gone.
func TestGRPCArriving(t *testing.T) {
	const size = 1 << 20
	r := start(t, func(o *Options) { o.MaxAnswer, o.MaxBytes, o.Timeout = size, size, time.Minute }, "numbers")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := r.Server.GRPC()
	go func() { _ = g.Serve(l) }()
	defer g.Close()
	var bodies []*io.PipeWriter
	codesOf := make(chan string, 100)
	for i := range int64(8) {
		body, code := r.stalled(l.Addr().String(), size-1000, size*3/4)
		bodies = append(bodies, body)
		go func() { codesOf <- <-code }()
		if i < 5 { // five of three quarters fit into four, one after the other
			r.taken((i+1)*size*3/4, 4*size)
		} else if got := <-codesOf; got != "8" {
			t.Errorf("code %s, expected %d", got, codes.ResourceExhausted)
		}
	}
	r.taken(5*size*3/4, 4*size)
	r.Server.budget.taken.Add(size / 4) // full
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := r.dialed().ServerLive(soon, &oip.ServerLiveRequest{}); err != nil {
		t.Errorf("a full server does not say that it lives: %v", err)
	}
	r.Server.budget.taken.Add(-size / 4)
	for _, b := range bodies {
		b.CloseWithError(io.ErrUnexpectedEOF)
	}
	for range 5 {
		<-codesOf
	}
	r.taken(0, 0)
	_, err = r.dialed().ModelInfer(t.Context(), &oip.ModelInferRequest{ModelName: "numbers", Inputs: []*oip.ModelInferRequest_InferInputTensor{fp64("a", 1), fp64("b", 100)}})
	if err != nil {
		t.Errorf("afterwards: %v", status.Convert(err).Message())
	}
}
