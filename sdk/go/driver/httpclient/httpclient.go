// Package httpclient sends requests of net/http through the host, for client libraries of clouds that accept an
// http.RoundTripper or an *http.Client.
//
// Put placeholders of secrets into header values and bodies, as with driver.Host. The package costs a component some
// megabytes: if you write the calls of a cloud by hand, use driver.Host alone.
package httpclient

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// New returns a client that follows no redirect: a request is sent only where the operator granted it. Its errors wrap
// a *driver.NoAnswer, like those of driver.Host.Send; Attempt.NoAnswer accepts them.
func New(host *driver.Host) *http.Client {
	return &http.Client{
		Transport:     Transport(host, driver.Limits{}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport returns a round tripper through the host. The limits are for each request.
func Transport(host *driver.Host, limits driver.Limits) http.RoundTripper {
	return transport{host, limits}
}

type transport struct {
	host   *driver.Host
	limits driver.Limits
}

// RoundTrip sends the complete body and waits for the complete answer. A context that has ended stops it before, not in
// between.
func (of transport) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := bodyOf(request)
	if err != nil {
		return nil, err
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	asked := driver.HTTPRequest{Method: request.Method, URL: urlOf(request), Header: driver.Header{}, Body: body}
	for name, values := range request.Header {
		asked.Header[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	answer, err := of.host.SendWithin(of.limits, asked)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range answer.Header {
		header.Set(name, value)
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status)),
		StatusCode:    answer.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(answer.Body)),
		ContentLength: int64(len(answer.Body)),
		Request:       request,
	}, nil
}

// A RoundTripper must close the body in each case.
func bodyOf(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	defer request.Body.Close()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("failed to read the body of a request: %w", err)
	}
	return body, nil
}

// urlOf omits the parts that only browsers use, and the default port.
func urlOf(request *http.Request) string {
	url := *request.URL
	url.Fragment, url.RawFragment = "", ""
	if port, err := strconv.Atoi(url.Port()); err == nil && url.Scheme == "https" && port == 443 {
		url.Host = strings.TrimSuffix(url.Host, ":443")
	}
	return url.String()
}
