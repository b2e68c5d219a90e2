//! Calls of drivers on the wire.
#![expect(clippy::result_large_err, reason = "the port's own type of answers")]

use futures::FutureExt;
use futures::future::BoxFuture;
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{Code, DriverError, GuestFailure, Limit};
use memory_api::wire::{CallFailure, Wire};

/// Carries a call of a driver: `act` does it, and what befalls it on the way becomes an answer as the plugin host gives
/// it.
pub fn carry<'a, T: Send + 'a>(
    wire: &'a Wire,
    actor: &'a str,
    (verb, function, about): (&'static str, &'static str, String),
    act: impl Future<Output = DriverResult<T>> + Send + 'a,
) -> BoxFuture<'a, DriverResult<T>> {
    let act = async move {
        let answer = act.await;
        let code = answer.as_ref().err().map_or(200, |error| u16::from(error.code().number()));
        (code, answer)
    };
    wire.carry(actor, (verb, function.to_owned(), about), act, broken).boxed()
}

fn broken<T>(failure: CallFailure) -> DriverResult<T> {
    Err(match failure {
        CallFailure::Refused(number) => {
            let code = Code::ALL.get(usize::from(number).saturating_sub(1)).copied().unwrap_or(Code::Unknown);
            DriverError::new(code, "the cloud refuses").into()
        }
        CallFailure::NotSent => DriverError::new(Code::Unavailable, "the cloud is not reachable").into(),
        CallFailure::NoAnswer => {
            GuestFailure::Limit { limit: Limit::Deadline, detail: "5 min".into() }.into()
        }
        CallFailure::Answered(error) => error,
    })
}
