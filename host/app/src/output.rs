//! Text for people and programs: a reader who has seen enough, such as `head` or a pager that was left, ends the
//! command quietly.
//!
//! The macros of std panic when nobody reads. Those below take their names, so that no command can forget it.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};

/// The exit code that a shell shows for a command that SIGPIPE has ended: 128 + 13.
const CLOSED_PIPE: i32 = 141;

/// Writes to standard output, and ends the process when nobody reads it.
pub(crate) fn out(text: Arguments<'_>) {
    end_without_reader(io::stdout().lock().write_fmt(text));
}

/// Writes what is held back to standard output.
pub(crate) fn flush() {
    end_without_reader(io::stdout().lock().flush());
}

/// Writes to standard error. A failure cannot be reported.
pub(crate) fn err(text: Arguments<'_>) {
    let _unheard = io::stderr().lock().write_fmt(text);
}

/// Starts a table without lines, as wide as its cells.
pub(crate) fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    table
}

fn end_without_reader(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(CLOSED_PIPE),
        Err(error) => {
            err(format_args!("machinist: failed to write the output: {error}\n"));
            std::process::exit(1);
        }
    }
}

/// As in std, without its panic.
macro_rules! print {
    ($($part:tt)*) => { $crate::output::out(format_args!($($part)*)) };
}

/// As in std, without its panic.
macro_rules! println {
    () => { $crate::output::out(format_args!("\n")) };
    ($($part:tt)*) => { $crate::output::out(format_args!("{}\n", format_args!($($part)*))) };
}

/// As in std, without its panic.
macro_rules! eprint {
    ($($part:tt)*) => { $crate::output::err(format_args!($($part)*)) };
}

/// As in std, without its panic.
macro_rules! eprintln {
    ($($part:tt)*) => { $crate::output::err(format_args!("{}\n", format_args!($($part)*))) };
}
