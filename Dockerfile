# The program alone, without a shell, as a user without rights. Build and run:
#
#	docker build -t valla .
#	docker run -p 127.0.0.1:8080:8080 -v "$PWD:/models:ro" valla serve --model /models/houses.valla --listen :8080
#
# The tag noopenblas leaves out the loaders of OpenBLAS and of onnxruntime, which need the system's C library.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -tags noopenblas -trimpath -ldflags=-s -o /valla ./cmd/valla

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /valla /valla
USER 65532:65532
ENTRYPOINT ["/valla"]
