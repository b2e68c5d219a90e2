//! Answers as EC2 and STS word them.

use bytes::Bytes;

use crate::xml::escaped;

/// An error of the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwsError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retry_after_seconds: Option<u64>,
}

impl AwsError {
    /// With the status that the cloud gives it.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            status: status_of(code),
            code: code.to_owned(),
            message: message.into(),
            retry_after_seconds: None,
        }
    }
}

/// The status of an error as the cloud's documentation has it. Capacity is the server's fault there.
pub(crate) fn status_of(code: &str) -> u16 {
    match code {
        "AuthFailure" => 401,
        "AccessDenied"
        | "InvalidClientTokenId"
        | "MissingAuthenticationToken"
        | "OptInRequired"
        | "SignatureDoesNotMatch"
        | "UnauthorizedOperation" => 403,
        "RequestLimitExceeded" | "ServiceUnavailable" | "Unavailable" => 503,
        "InsufficientAddressCapacity"
        | "InsufficientCapacity"
        | "InsufficientHostCapacity"
        | "InsufficientInstanceCapacity"
        | "InsufficientReservedInstanceCapacity"
        | "InsufficientVolumeCapacity"
        | "InternalError"
        | "InternalFailure" => 500,
        _ => 400,
    }
}

/// How an answer arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// The connection closes before a byte of it.
    Never,
    /// Its length is announced, but the connection closes in its middle.
    Half,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) body: Bytes,
    pub(crate) delivery: Delivery,
    /// For the journal: `ok`, or the code of the error.
    pub(crate) outcome: String,
}

/// Which service words an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Ec2,
    Sts,
}

impl Answer {
    pub(crate) fn xml(status: u16, outcome: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: "text/xml;charset=UTF-8".to_owned(),
            retry_after_seconds: None,
            body: body.into(),
            delivery: Delivery::Whole,
            outcome: outcome.to_owned(),
        }
    }

    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self::xml(200, "ok", body)
    }

    pub(crate) fn error(error: &AwsError, service: Service, request_id: &str) -> Self {
        let (code, message) = (escaped(&error.code), escaped(&error.message));
        let body = match service {
            Service::Ec2 => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{message}\
                 </Message></Error></Errors><RequestID>{request_id}</RequestID></Response>"
            ),
            Service::Sts => format!(
                "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>{code}\
                 </Code><Message>{message}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
            ),
        };
        let answer = Self::xml(error.status, &error.code, body);
        Self { retry_after_seconds: error.retry_after_seconds, ..answer }
    }

    /// The error page of a proxy before the cloud.
    pub(crate) fn html(status: u16) -> Self {
        let page = format!(
            "<html>\r\n<head><title>{status} Error</title></head>\r\n<body>\r\n<center><h1>{status} Error</h1></center>\r\n\
             <hr><center>gateway</center>\r\n</body>\r\n</html>\r\n"
        );
        Self { content_type: "text/html".to_owned(), ..Self::xml(status, "html", page) }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.status == 200
    }

    /// The body, if it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.body).ok()
    }
}
