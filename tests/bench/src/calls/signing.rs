//! The time to sign a request, beside the time to send it unsigned.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use jiff::Timestamp;
use machinist_plugin_host::testing::RequestTarget;
use machinist_plugin_host::testing::sigv4::{self, Keys, Scope};

use super::Cloud;
use crate::times::Times;

const WARM_UP: usize = 200;
const ROUNDS: usize = 5_000;
/// About as large as a RunInstances with user data.
const BODY_BYTES: usize = 8 * 1024;
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// The times of signing and of sending.
#[derive(Clone, Debug)]
pub(crate) struct SigningFigures {
    pub(crate) rounds: usize,
    pub(crate) body_bytes: usize,
    pub(crate) signing: Times,
    /// A request without a signature, from sending to its answer.
    pub(crate) unsigned: Times,
}

/// Both in turn, so that whatever else the machine does befalls both.
pub(crate) async fn measure() -> Result<SigningFigures> {
    eprintln!("signing");
    let cloud = Cloud::start()?;
    let url = format!("{}/", cloud.url());
    let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
    let body = vec![b'a'; BODY_BYTES];
    let keys = Keys::new("AKIABENCHMARK", "a-secret-access-key-of-forty-characters0", None);
    let keys = keys.context("the keys can be used")?;
    let scope = Scope { service: "ec2", region: "eu-west-1" };
    let request = || http.post(&url).header("content-type", FORM).body(body.clone()).build();
    let (mut signing, mut unsigned) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let sent = request()?;
        let target = RequestTarget::parse(sent.method(), &url)?;
        let mut headers = sent.headers().clone();
        let started = Instant::now();
        let signature = sigv4::sign(&target, &headers, &body, &keys, scope, Timestamp::now())?;
        black_box(&signature).apply(&mut headers);
        let signed = started.elapsed();
        let started = Instant::now();
        black_box(http.execute(sent).await?.error_for_status()?.bytes().await?);
        let answered = started.elapsed();
        if round >= WARM_UP {
            signing.push(signed);
            unsigned.push(answered);
        }
    }
    Ok(SigningFigures {
        rounds: ROUNDS,
        body_bytes: BODY_BYTES,
        signing: Times::of(signing),
        unsigned: Times::of(unsigned),
    })
}
