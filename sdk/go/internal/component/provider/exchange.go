//go:build wasip1

package provider

import (
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wasi_http_outgoing_handler"
	wasi "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wasi_http_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wasi_io_streams"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/runtime"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

const pieceBytes = 64 << 10

// Exchange sends a request and waits for the complete answer.
func (*backend) Exchange(request driver.HTTPRequest, url driver.URL, limits driver.Limits) (*driver.HTTPAnswer, error) {
	runtime.Sweep()
	outgoing, err := outgoingOf(request, url)
	if err != nil {
		return nil, err
	}
	body := outgoing.Body().Ok()
	handled := wasi_http_outgoing_handler.Handle(outgoing, types.Some(optionsOf(limits)))
	if handled.IsErr() {
		return nil, noAnswer(handled.Err(), url.Host())
	}
	sendBody(body, request.Body)
	future := handled.Ok()
	defer future.Drop()
	incoming, err := answerOf(future, url.Host())
	if err != nil {
		return nil, err
	}
	defer incoming.Drop()
	return read(incoming, limits.AnswerBytes, url.Host())
}

func outgoingOf(request driver.HTTPRequest, url driver.URL) (*wasi.OutgoingRequest, error) {
	fields := make([]types.Tuple2[string, []uint8], 0, len(request.Header))
	for name, value := range request.Header {
		fields = append(fields, types.Tuple2[string, []uint8]{F0: strings.ToValidUTF8(name, "?"), F1: []byte(value)})
	}
	headers := wasi.FieldsFromList(fields)
	if headers.IsErr() {
		// The error must not name the header: its value could be anything.
		return nil, &driver.NoAnswer{Reason: driver.Other, Host: url.Host(), Detail: "a header is not usable"}
	}
	outgoing := wasi.MakeOutgoingRequest(headers.Ok())
	scheme := wasi.MakeSchemeHttp()
	if url.IsTLS {
		scheme = wasi.MakeSchemeHttps()
	}
	isRefused := outgoing.SetMethod(methodOf(request.Method)).IsErr() ||
		outgoing.SetScheme(types.Some(scheme)).IsErr() ||
		outgoing.SetAuthority(types.Some(url.Authority)).IsErr() ||
		outgoing.SetPathWithQuery(types.Some(url.PathWithQuery)).IsErr()
	if isRefused {
		outgoing.Drop()
		return nil, &driver.NoAnswer{Reason: driver.BadURL, Host: url.Host()}
	}
	return outgoing, nil
}

func methodOf(name string) wasi.Method {
	switch name {
	case "", "GET":
		return wasi.MakeMethodGet()
	case "HEAD":
		return wasi.MakeMethodHead()
	case "POST":
		return wasi.MakeMethodPost()
	case "PUT":
		return wasi.MakeMethodPut()
	case "DELETE":
		return wasi.MakeMethodDelete()
	case "OPTIONS":
		return wasi.MakeMethodOptions()
	case "PATCH":
		return wasi.MakeMethodPatch()
	default:
		return wasi.MakeMethodOther(strings.ToValidUTF8(name, "?"))
	}
}

// A host without one of these timeouts still ends the call.
func optionsOf(limits driver.Limits) *wasi.RequestOptions {
	options := wasi.MakeRequestOptions()
	nanoseconds := func(limit time.Duration) types.Option[uint64] { return types.Some(uint64(limit.Nanoseconds())) }
	options.SetConnectTimeout(nanoseconds(limits.Connect))
	options.SetFirstByteTimeout(nanoseconds(limits.Answer))
	options.SetBetweenBytesTimeout(nanoseconds(limits.Answer))
	return options
}

// A server that refuses a body half-way gives the reason in its answer, so errors here mean nothing.
func sendBody(body *wasi.OutgoingBody, content []byte) {
	if len(content) > 0 {
		if opened := body.Write(); !opened.IsErr() {
			stream := opened.Ok()
			write(stream, content)
			stream.Drop()
		}
	}
	wasi.OutgoingBodyFinish(body, types.None[*wasi.Fields]())
}

func write(stream *wasi_io_streams.OutputStream, content []byte) {
	for len(content) > 0 {
		room := stream.CheckWrite()
		if room.IsErr() {
			return
		}
		size := min(uint64(len(content)), room.Ok())
		if size == 0 {
			ready := stream.Subscribe()
			ready.Block()
			ready.Drop()
			continue
		}
		if stream.Write(content[:size]).IsErr() {
			return
		}
		content = content[size:]
	}
}

func answerOf(future *wasi.FutureIncomingResponse, host string) (*wasi.IncomingResponse, error) {
	ready := future.Subscribe()
	ready.Block()
	ready.Drop()
	given, isGiven := future.Get().Get()
	if !isGiven || given.IsErr() {
		return nil, &driver.NoAnswer{Reason: driver.Other, Host: host, Detail: "the host gave no answer"}
	}
	incoming := given.Ok()
	if incoming.IsErr() {
		return nil, noAnswer(incoming.Err(), host)
	}
	return incoming.Ok(), nil
}

func read(incoming *wasi.IncomingResponse, mostBytes int, host string) (*driver.HTTPAnswer, error) {
	answer := &driver.HTTPAnswer{Status: int(incoming.Status()), Header: driver.Header{}}
	fields := incoming.Headers()
	for _, field := range fields.Entries() {
		// Of a header that occurs twice, the first counts.
		name := strings.ToLower(field.F0)
		if _, known := answer.Header[name]; !known {
			answer.Header[name] = string(field.F1)
		}
	}
	fields.Drop()
	consumed := incoming.Consume()
	if consumed.IsErr() {
		return nil, &driver.NoAnswer{Reason: driver.Other, Host: host, Detail: "the body was taken before"}
	}
	body := consumed.Ok()
	defer body.Drop()
	opened := body.Stream()
	if opened.IsErr() {
		return nil, &driver.NoAnswer{Reason: driver.Other, Host: host, Detail: "the body was taken before"}
	}
	stream := opened.Ok()
	defer stream.Drop()
	content, err := readAll(stream, mostBytes, host)
	answer.Body = content
	return answer, err
}

func readAll(stream *wasi_io_streams.InputStream, mostBytes int, host string) ([]byte, error) {
	var content []byte
	for len(content) <= mostBytes {
		piece := stream.BlockingRead(pieceBytes)
		if !piece.IsErr() {
			content = append(content, piece.Ok()...)
			continue
		}
		failure := piece.Err()
		if failure.Tag() == wasi_io_streams.StreamErrorClosed {
			return content, nil
		}
		cause := failure.LastOperationFailed()
		defer cause.Drop()
		if code, isKnown := wasi.HttpErrorCode(cause).Get(); isKnown {
			return nil, noAnswer(code, host)
		}
		return nil, &driver.NoAnswer{Reason: driver.CutOff, Host: host}
	}
	return nil, &driver.NoAnswer{Reason: driver.AnswerTooLarge, Host: host}
}
