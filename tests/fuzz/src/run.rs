//! Tries many inputs of a target, and shrinks the ones that fail.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::caught;
use crate::mutate::mutated;
use crate::rng::Rng;
use crate::shrink::shrunk;
use crate::target::{Shape, Target};

/// Inputs that are kept beside the samples, for each job.
const MOST_KEPT: usize = 512;
/// No input takes as long, however busy the machine is.
const TOO_SLOW: Duration = Duration::from_secs(20);

/// How many inputs are tried, and which.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In all jobs together.
    pub inputs: u64,
    /// Decides which: the same seed and jobs try the same inputs.
    pub seed: u64,
    pub jobs: u32,
    /// Writes each input here before it is tried: the last one of an abort or an endless loop is left.
    pub trace: Option<PathBuf>,
}

/// An input that breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which promise, or where the panic is.
    pub what: String,
    /// As short as it goes.
    pub input: Vec<u8>,
}

/// The result of a run of one target.
#[derive(Clone, Debug)]
pub struct Summary {
    pub inputs: u64,
    /// They were taken in so many ways.
    pub shapes: usize,
    /// The time on the wall.
    pub took: Duration,
    /// The first input of each job that breaks a promise.
    pub findings: Vec<Finding>,
}

/// Tries one input; the way it was taken. The error is a broken promise.
pub fn once(target: &Target, input: &[u8]) -> Result<Shape, Finding> {
    caught::check(target, input).map_err(|what| Finding { what, input: input.to_vec() })
}

/// Tries the samples, then as many inputs as the plan says, until one breaks a promise. `tried` counts along.
pub fn run(target: &Target, plan: &Plan, tried: &AtomicU64) -> Summary {
    let begun = Instant::now();
    let is_over = AtomicBool::new(false);
    let samples = (target.samples)();
    let jobs = u64::from(plan.jobs.max(1));
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs)
            .map(|job| {
                let inputs = plan.inputs / jobs + u64::from(job < plan.inputs % jobs);
                let trace = plan.trace.as_ref().map(|path| path.with_extension(format!("{job}")));
                let seed = plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(job);
                let worker = Worker { target, samples: &samples, trace, tried, is_over: &is_over };
                scope.spawn(move || worker.run(inputs, seed))
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let shapes: BTreeSet<Shape> = parts.iter().flat_map(|part| part.shapes.iter().copied()).collect();
    Summary {
        inputs: parts.iter().map(|part| part.inputs).sum(),
        shapes: shapes.len(),
        took: begun.elapsed(),
        findings: parts.into_iter().filter_map(|part| part.finding).collect(),
    }
}

struct Worker<'a> {
    target: &'a Target,
    samples: &'a [Vec<u8>],
    trace: Option<PathBuf>,
    tried: &'a AtomicU64,
    is_over: &'a AtomicBool,
}

#[derive(Default)]
struct Part {
    inputs: u64,
    shapes: BTreeSet<Shape>,
    finding: Option<Finding>,
}

impl Worker<'_> {
    fn run(&self, inputs: u64, seed: u64) -> Part {
        let mut part = Part::default();
        let mut rng = Rng::new(seed);
        let mut pool: Vec<Vec<u8>> = self.samples.to_vec();
        for sample in self.samples {
            self.attempt(sample, &mut part);
        }
        while part.inputs < inputs && part.finding.is_none() && !self.is_over.load(Ordering::Relaxed) {
            // Samples stay half of what is changed, however many inputs join them.
            let choices = if rng.once_in(2) { self.samples } else { &pool };
            let (Some(base), Some(other)) = (rng.pick(choices), rng.pick(&pool)) else { break };
            let input = mutated(self.target.grammar, base, other, self.target.words, &mut rng);
            part.inputs += 1;
            self.tried.fetch_add(1, Ordering::Relaxed);
            if self.attempt(&input, &mut part) {
                if pool.len() < self.samples.len() + MOST_KEPT {
                    pool.push(input);
                } else if let Some(old) = pool.get_mut(self.samples.len() + rng.below(MOST_KEPT)) {
                    *old = input;
                }
            }
        }
        part
    }

    /// True when the input was taken in a new way.
    fn attempt(&self, input: &[u8], part: &mut Part) -> bool {
        if let Some(trace) = &self.trace {
            std::fs::write(trace, input).unwrap_or_else(|error| panic!("no trace: {error}"));
        }
        let begun = Instant::now();
        let verdict = caught::check(self.target, input);
        let took = begun.elapsed();
        let verdict = if took > TOO_SLOW { Err(format!("it takes {took:?}")) } else { verdict };
        match verdict {
            Ok(shape) => part.shapes.insert(shape),
            Err(what) => {
                if part.finding.is_none() {
                    self.is_over.store(true, Ordering::Relaxed);
                    let input = shrunk(self.target, input, &what);
                    // The text of the input that is left.
                    let what = once(self.target, &input).err().map_or(what, |left| left.what);
                    part.finding = Some(Finding { what, input });
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Grammar;
    use crate::target::promise;

    fn target(check: fn(&[u8]) -> crate::Verdict) -> Target {
        let samples = || vec![br#"{"a": "some text", "b": [1, 2]}"#.to_vec()];
        Target { name: "test", about: "", grammar: Grammar::Json, samples, words: &["bomb"], share: 0, check }
    }

    fn tried(target: &Target) -> Summary {
        let plan = Plan { inputs: 20_000, seed: 3, jobs: 2, trace: None };
        run(target, &plan, &AtomicU64::new(0))
    }

    #[test]
    fn a_broken_promise_is_found_and_made_short() {
        let bomb = target(|input| {
            let text = String::from_utf8_lossy(input);
            promise(!text.contains("bomb"), || "a bomb".to_owned()).map(|()| Shape::of(&text))
        });
        let summary = tried(&bomb);
        let finding = summary.findings.first().expect("the word is in the dictionary");
        assert_eq!((finding.what.as_str(), finding.input.as_slice()), ("a bomb", &b"bomb"[..]));
        assert!(summary.inputs < 20_000, "it ends there");
    }

    #[test]
    fn a_panic_is_found_with_its_place() {
        let summary = tried(&target(|input| {
            let value: serde_json::Value = serde_json::from_slice(input).unwrap_or_default();
            assert!(value["b"][0] != 3, "three");
            Ok(Shape::of(""))
        }));
        let finding = summary.findings.first().expect("a value is near");
        assert!(finding.what.contains("run.rs") && finding.what.contains("three"), "{}", finding.what);
    }

    #[test]
    fn an_input_that_is_taken_in_a_new_way_is_changed_further() {
        let summary = tried(&target(|input| {
            // One step more each time: no single change of the sample gets there.
            let text = String::from_utf8_lossy(input);
            let steps = text.matches("bomb").count().min(9);
            promise(steps < 9, || "nine".to_owned())?;
            Ok(Shape::of(["a", "b", "c", "d", "e", "f", "g", "h", "i"].get(steps).copied().unwrap_or("")))
        }));
        assert_eq!(summary.findings.len(), 1);
    }

    #[test]
    fn what_holds_ends_with_all_inputs_tried() {
        let summary = tried(&target(|input| Ok(Shape::of(&String::from_utf8_lossy(input)))));
        assert_eq!((summary.inputs, summary.findings.len()), (20_000, 0));
        assert!(summary.shapes > 1_000);
    }
}
