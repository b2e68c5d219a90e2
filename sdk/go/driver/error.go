package driver

import "time"

// Error is how a call says that it failed. The message must not hold a secret, user data or a whole answer of the cloud.
type Error struct {
	Code Code
	// Message is for people: what failed, and what to do.
	Message string
	// CloudCode is the cloud's own code, such as InsufficientInstanceCapacity.
	CloudCode string
	// RetryAfter: do not ask again before.
	RetryAfter time.Duration
	// Terminal: no retry helps until class, secret or machine change.
	Terminal bool
	// MayHaveHappened: the cloud may have done what was asked. The host looks before it asks again.
	MayHaveHappened bool
	// LastKnownState is what the next call for this machine should know. Empty leaves what is stored.
	LastKnownState string
	// ProviderID and NodeName say which machine it is, where that is known.
	ProviderID string
	NodeName   string
}

// Error is the message.
func (err *Error) Error() string { return err.Message }

// Invalid is for a class or a machine that can never work as it is.
func Invalid(message string) *Error {
	return &Error{Code: InvalidArgument, Message: message, Terminal: true}
}

// Failed is an error with nothing but code and message.
func Failed(code Code, message string) *Error { return &Error{Code: code, Message: message} }
