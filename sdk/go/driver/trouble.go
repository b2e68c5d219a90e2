package driver

import "strings"

// Trouble is why a request has no answer.
type Trouble uint8

// The first ones are of requests that were not sent.
const (
	// Other is what has no name of its own.
	Other Trouble = iota
	// Denied means that the grants do not allow the request, or a secret in its place.
	Denied
	// AddressDenied means that the host leads to an address that is not granted.
	AddressDenied
	// BadURL means that the URL is none of HTTP.
	BadURL
	// RequestTooLarge means larger than the grants allow.
	RequestTooLarge
	// NoSuchHost means that the host has no address.
	NoSuchHost
	// ConnectionRefused means that nobody listens.
	ConnectionRefused
	// Unreachable means that there is no way to the host.
	Unreachable
	// TLSFailed means that there is no TLS session.
	TLSFailed
	// NoTimeLeft means that the call's time was over before.
	NoTimeLeft
	// TimedOut means that no answer came in time.
	TimedOut
	// CutOff means that the connection ended before the answer did.
	CutOff
	// AnswerTooLarge means larger than what is read.
	AnswerTooLarge
	troubles
)

type meaning struct {
	code            Code
	mayHaveBeenSent bool
	// With HOST and DETAIL.
	explanation string
}

var meanings = [troubles]meaning{
	Other: {Unknown, true, "the request to HOST failed: DETAIL"},
	Denied: {FailedPrecondition, false, "the host HOST is not granted, or a secret not in its place: add HOST with its scheme " +
		"and port to egress, and the places of secrets to secrets, in the plugin's grants"},
	AddressDenied: {FailedPrecondition, false, "the host HOST leads to an address that is not granted: add the address's class " +
		"(loopback, private, …) to addresses of HOST in egress of the plugin's grants"},
	BadURL: {FailedPrecondition, false, "the URL for HOST is not usable: correct the endpoint in the plugin's settings"},
	RequestTooLarge: {InvalidArgument, false, "the request to HOST is too large: shorten the user data, or raise the limit in " +
		"the grants"},
	NoSuchHost: {Unavailable, false, "the host HOST has no address: check the endpoint in the plugin's settings, and DNS"},
	ConnectionRefused: {Unavailable, false, "the host HOST refuses connections: check that the cloud runs, and the endpoint in " +
		"the plugin's settings"},
	Unreachable: {Unavailable, false, "the host HOST cannot be reached: check the network towards it"},
	TLSFailed: {Unavailable, false, "there is no TLS session with HOST: check its certificate; an authority of its own belongs " +
		"into ca of the plugin's grants"},
	NoTimeLeft:     {DeadlineExceeded, false, "the call's time was over before HOST could be asked"},
	TimedOut:       {DeadlineExceeded, true, "no answer of HOST in time"},
	CutOff:         {Unavailable, true, "the connection to HOST ended before the answer did"},
	AnswerTooLarge: {Internal, true, "the answer of HOST is larger than what is read"},
}

func (trouble Trouble) meaning() meaning {
	if trouble >= troubles {
		return meanings[Other]
	}
	return meanings[trouble]
}

// Code is how the host treats it.
func (trouble Trouble) Code() Code { return trouble.meaning().code }

// MayHaveBeenSent is true when the request may have reached the cloud.
func (trouble Trouble) MayHaveBeenSent() bool { return trouble.meaning().mayHaveBeenSent }

// NoAnswer is the error of a request that has no answer.
type NoAnswer struct {
	Trouble Trouble
	// Host was asked, without its port.
	Host string
	// Detail is said of Other.
	Detail string
}

// Error is what is wrong, and what to do.
func (err *NoAnswer) Error() string {
	return strings.NewReplacer("HOST", err.Host, "DETAIL", err.Detail).Replace(err.Trouble.meaning().explanation)
}
