package driver

import "strings"

// AuthHeader is the name of the header by which a driver asks the host to authenticate a request. Its value is a mark, one of those
// below. The host takes it off, and signs the request or adds what the scheme needs, from the keys of the Secret and where the plugin's
// grants allow it.
const AuthHeader = "machinist-auth"

const (
	// AuthBearer sends a value of the Secret as a bearer token, or in the header that the grants name.
	AuthBearer = "bearer"
	// AuthBasic sends name and password.
	AuthBasic = "basic"
	// AuthKeystone sends a token of OpenStack's identity service.
	AuthKeystone = "keystone"
)

// AuthAWSSigV4 signs by AWS Signature Version 4.
func AuthAWSSigV4(service, region string) string {
	return "aws-sigv4; service=" + service + "; region=" + region
}

// AuthOAuth2ClientCredentials sends a token that the host gets for the client's name and secret. Scopes may be absent.
func AuthOAuth2ClientCredentials(scopes ...string) string {
	return scoped("oauth2-client-credentials", scopes)
}

// AuthJWTBearer sends a token that the host gets for an assertion that it signs, such as for a service account of Google. Scopes may
// be absent.
func AuthJWTBearer(scopes ...string) string {
	return scoped("jwt-bearer", scopes)
}

func scoped(scheme string, scopes []string) string {
	if len(scopes) == 0 {
		return scheme
	}
	return scheme + "; scope=" + strings.Join(scopes, " ")
}
