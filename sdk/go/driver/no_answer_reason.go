package driver

import "strings"

// NoAnswerReason is the cause of a missing answer.
type NoAnswerReason uint8

// Requests with the causes from Denied to NoTimeLeft were not sent.
const (
	// Other is any other cause.
	Other NoAnswerReason = iota
	// Denied means that the grants do not allow the request, or a secret at its place.
	Denied
	// AddressDenied means that the host resolves to an address that is not granted.
	AddressDenied
	// BadURL means that the URL is not a URL of HTTP.
	BadURL
	// RequestTooLarge means that the request is larger than the grants allow.
	RequestTooLarge
	// NoSuchHost means that the host has no address.
	NoSuchHost
	// ConnectionRefused means that no server listens there.
	ConnectionRefused
	// Unreachable means that there is no route to the host.
	Unreachable
	// TLSFailed means that the TLS handshake failed.
	TLSFailed
	// NoTimeLeft means that the call's time was over before the request.
	NoTimeLeft
	// TimedOut means that no answer came in time.
	TimedOut
	// CutOff means that the connection ended before the answer did.
	CutOff
	// AnswerTooLarge means that the answer exceeds a limit.
	AnswerTooLarge
	noAnswerReasons
)

type meaning struct {
	code            Code
	mayHaveBeenSent bool
	// Contains HOST and DETAIL.
	explanation string
}

var meanings = [noAnswerReasons]meaning{
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

func (reason NoAnswerReason) meaning() meaning {
	if reason >= noAnswerReasons {
		return meanings[Other]
	}
	return meanings[reason]
}

// Code returns the contract's code, by which the host decides.
func (reason NoAnswerReason) Code() Code { return reason.meaning().code }

// MayHaveBeenSent is true if the request may have reached the cloud.
func (reason NoAnswerReason) MayHaveBeenSent() bool { return reason.meaning().mayHaveBeenSent }

// NoAnswer is the error of a request without an answer.
type NoAnswer struct {
	Reason NoAnswerReason
	// Host is the host of the request, without its port.
	Host string
	// Detail explains Other.
	Detail string
}

// Error explains the problem and what to do.
func (err *NoAnswer) Error() string {
	return strings.NewReplacer("HOST", err.Host, "DETAIL", err.Detail).Replace(err.Reason.meaning().explanation)
}
