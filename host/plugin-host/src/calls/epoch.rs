//! The thread that moves the epochs on while calls are running.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use wasmtime::Engine;

use crate::calls::engine::TICK;

/// Ticks as long as a call holds a [`RunningCall`]; sleeps otherwise. The thread ends with this.
pub(crate) struct Ticker {
    shared: Arc<TickerShared>,
    thread: Option<JoinHandle<()>>,
}

struct TickerShared {
    state: Mutex<TickerState>,
    changed: Condvar,
}

#[derive(Default)]
struct TickerState {
    running: usize,
    is_over: bool,
}

pub(crate) struct RunningCall(Arc<TickerShared>);

impl Ticker {
    pub(crate) fn start(engines: Vec<Engine>) -> std::io::Result<Self> {
        let shared = Arc::new(TickerShared { state: Mutex::default(), changed: Condvar::new() });
        let seen = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("plugin-ticker".to_owned()).spawn(move || tick(&engines, &seen))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn running(&self) -> RunningCall {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running += 1;
        if state.running == 1 {
            self.shared.changed.notify_one();
        }
        RunningCall(Arc::clone(&self.shared))
    }
}

fn tick(engines: &[Engine], shared: &TickerShared) {
    loop {
        let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = shared
            .changed
            .wait_while(state, |state| state.running == 0 && !state.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return;
        }
        drop(state);
        thread::sleep(TICK);
        engines.iter().for_each(Engine::increment_epoch);
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It cannot panic: it only sleeps and counts.
            let _ended = thread.join();
        }
    }
}
