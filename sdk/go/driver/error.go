package driver

import "time"

// Error is the failure of a call. The message must not hold a secret, user data or a complete answer of the cloud.
type Error struct {
	Code Code
	// Message is for people: the failure, and what to do.
	Message string
	// CloudCode is the cloud's own code, such as InsufficientInstanceCapacity.
	CloudCode string
	// RetryAfter is the minimum time until the next call.
	RetryAfter time.Duration
	// Terminal is true if no retry helps until class, Secret or Machine change.
	Terminal bool
	// MayHaveHappened is true if the cloud may have done the work: the host checks before it calls again.
	MayHaveHappened bool
	// LastKnownState holds facts for the next call for this machine. Empty keeps the stored state.
	LastKnownState string
	// ProviderID and NodeName identify the machine, if known.
	ProviderID string
	NodeName   string
}

// Error returns the message.
func (err *Error) Error() string { return err.Message }

// Invalid returns the error for a class or a machine that can never work.
func Invalid(message string) *Error {
	return &Error{Code: InvalidArgument, Message: message, Terminal: true}
}

// Failed returns an error with a code and a message.
func Failed(code Code, message string) *Error { return &Error{Code: code, Message: message} }
