//go:build wasip1

package provider

import (
	"fmt"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	wasi "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wasi_http_types"
)

var reasons = map[uint8]driver.NoAnswerReason{
	wasi.ErrorCodeHttpRequestDenied:             driver.Denied,
	wasi.ErrorCodeDestinationIpProhibited:       driver.AddressDenied,
	wasi.ErrorCodeHttpRequestUriInvalid:         driver.BadURL,
	wasi.ErrorCodeHttpRequestUriTooLong:         driver.BadURL,
	wasi.ErrorCodeHttpRequestMethodInvalid:      driver.BadURL,
	wasi.ErrorCodeHttpRequestBodySize:           driver.RequestTooLarge,
	wasi.ErrorCodeDnsTimeout:                    driver.NoSuchHost,
	wasi.ErrorCodeDnsError:                      driver.NoSuchHost,
	wasi.ErrorCodeDestinationNotFound:           driver.NoSuchHost,
	wasi.ErrorCodeConnectionRefused:             driver.ConnectionRefused,
	wasi.ErrorCodeConnectionTimeout:             driver.Unreachable,
	wasi.ErrorCodeConnectionLimitReached:        driver.Unreachable,
	wasi.ErrorCodeDestinationUnavailable:        driver.Unreachable,
	wasi.ErrorCodeDestinationIpUnroutable:       driver.Unreachable,
	wasi.ErrorCodeTlsProtocolError:              driver.TLSFailed,
	wasi.ErrorCodeTlsCertificateError:           driver.TLSFailed,
	wasi.ErrorCodeTlsAlertReceived:              driver.TLSFailed,
	wasi.ErrorCodeHttpResponseTimeout:           driver.TimedOut,
	wasi.ErrorCodeConnectionReadTimeout:         driver.TimedOut,
	wasi.ErrorCodeConnectionWriteTimeout:        driver.TimedOut,
	wasi.ErrorCodeHttpResponseIncomplete:        driver.CutOff,
	wasi.ErrorCodeConnectionTerminated:          driver.CutOff,
	wasi.ErrorCodeHttpResponseBodySize:          driver.AnswerTooLarge,
	wasi.ErrorCodeHttpResponseHeaderSectionSize: driver.AnswerTooLarge,
	wasi.ErrorCodeHttpResponseHeaderSize:        driver.AnswerTooLarge,
}

// noAnswer converts an error code of wasi:http.
func noAnswer(code wasi.ErrorCode, host string) *driver.NoAnswer {
	reason, isNamed := reasons[code.Tag()]
	if isNamed {
		return &driver.NoAnswer{Reason: reason, Host: host}
	}
	detail := fmt.Sprintf("error %d of wasi:http", code.Tag())
	if code.Tag() == wasi.ErrorCodeInternalError {
		if said, isSaid := code.InternalError().Get(); isSaid {
			detail = driver.Quoted(said)
		}
	}
	return &driver.NoAnswer{Reason: driver.Other, Host: host, Detail: detail}
}
