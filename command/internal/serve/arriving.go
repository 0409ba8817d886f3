package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// mostAsked is the largest message that asks for no predictions, such as a name of a model, in bytes. No memory is planned for it, so
// that a full server says that it lives.
const mostAsked = 64 << 10

// arrivals returns a handler for the requests of g that takes the memory of their bodies as they arrive, so that clients that
// only begin to send large messages are refused before they fill the memory.
func arrivals(g *grpc.Server, b *budget) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != oip.GRPCInferenceService_ModelInfer_FullMethodName {
			r.Body = http.MaxBytesReader(w, r.Body, mostAsked)
			g.ServeHTTP(w, r)
			return
		}
		a := &arriving{body: r.Body, memory: share{of: b}, refused: make(chan error, 1), closed: make(chan struct{})}
		defer a.memory.free() // g has ended its reads then
		r = r.WithContext(context.WithValue(r.Context(), arrivingKey{}, a))
		r.Body = a
		g.ServeHTTP(w, r)
	})
}

// arrivingKey is the key of the *arriving in the context of a request.
type arrivingKey struct{}

// arriving is the body of a request of gRPC.
type arriving struct {
	body    io.ReadCloser // the body itself
	memory  share         // memory of the bytes that have arrived
	refused chan error    // receives the reason for which no more bytes are read
	closed  chan struct{} // closed with the body
}

// Read fills b, because the transport keeps the whole of b also where few bytes are in it. Where there is no memory Read
// waits for the end of the request, because the transport would answer an error with a code of its own.
func (a *arriving) Read(b []byte) (int, error) {
	if err := a.memory.take(float64(len(b))); err != nil {
		a.refused <- err
		<-a.closed
		return 0, err
	}
	n, err := io.ReadFull(a.body, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (a *arriving) Close() error {
	close(a.closed)
	return a.body.Close()
}

// receive receives the message of a stream. If the message is refused before it is there, receive returns the reason. With an
// error the memory of the message is free.
func (m *message) receive(stream grpc.ServerStream) error {
	end, refused := make(chan error, 1), make(chan error)
	if a, ok := stream.Context().Value(arrivingKey{}).(*arriving); ok {
		refused = a.refused
	}
	go func() { end <- stream.RecvMsg(m) }()
	select {
	case err := <-end:
		if err = cmp.Or(err, m.err); err != nil {
			m.memory.free()
		}
		return err
	case err := <-refused:
		go func() {
			<-end // the end of the stream ends RecvMsg
			m.memory.free()
		}()
		return err
	}
}
