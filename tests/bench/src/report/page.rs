//! A Markdown page of tables.

use std::fmt::{Display, Write as _};

use crate::machines::Requests;

use super::{float, per_machine};

/// A page that grows from top to bottom: sections with tables of rows.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    pub(super) fn line(&mut self, text: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    pub(super) fn section(&mut self, title: impl Display, intro: impl Display) {
        self.line(format_args!("\n## {title}\n\n{intro}\n"));
    }

    pub(super) fn table(&mut self, columns: &[&str]) {
        self.line(format_args!("| {} |", columns.join(" | ")));
        self.line(format_args!("|{}", " --- |".repeat(columns.len())));
    }

    pub(super) fn row(&mut self, cells: &[&dyn Display]) {
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        self.line(format_args!("| {} |", cells.join(" | ")));
    }

    /// Begins a table with one figure a row.
    pub(super) fn figures(&mut self) {
        self.table(&["what", "figure", "aim"]);
    }

    /// A figure without an aim.
    pub(super) fn figure(&mut self, what: impl Display, figure: impl Display) {
        self.row(&[&what, &figure, &""]);
    }

    /// A figure that is to be `most` or less.
    pub(super) fn at_most(&mut self, what: impl Display, figure: impl Display, (most, value): (f64, f64)) {
        self.row(&[&what, &figure, &at_most(most, value <= most)]);
    }

    /// A ratio that is to be `most` or less.
    pub(super) fn ratio(&mut self, what: impl Display, most: f64, ratio: f64) {
        self.at_most(what, format_args!("**{ratio:.2}**"), (most, ratio));
    }

    /// A table of the requests of each Machine.
    pub(super) fn requests(&mut self, requests: &Requests, machines: usize) {
        self.table(&["request", "a Machine"]);
        for (request, total) in &requests.0 {
            let failed =
                request.failed.as_ref().map(|code| format!(", answered by {code}")).unwrap_or_default();
            let apart = if request.is_apart() { " (apart)" } else { "" };
            let what = format!("{} {}{failed}{apart}", request.verb, request.resource);
            self.per_machine(&what, *total, machines);
        }
    }

    pub(super) fn per_machine(&mut self, what: &str, total: u64, machines: usize) {
        self.row(&[&what, &format_args!("{:.3}", per_machine(total, machines))]);
    }
}

pub(super) fn at_most(most: impl Display, is_met: bool) -> String {
    format!("at most {most}: {}", met(is_met))
}

pub(super) fn below(limit: impl Display, is_met: bool) -> String {
    format!("below {limit}: {}", met(is_met))
}

pub(super) fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

/// An aim of 0.
pub(super) fn none(count: u64) -> (f64, f64) {
    (0.0, float(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_a_table_with_figures_and_aims() {
        let mut page = Page::default();
        page.section("Lives", "Of one Machine.");
        page.figures();
        page.figure("until Running", "1.50 s");
        page.ratio("ratio", 3.0, 3.25);
        page.at_most("duplicate VMs", 0, none(0));
        let expected = "\n## Lives\n\nOf one Machine.\n\n| what | figure | aim |\n| --- | --- | --- |\n\
                        | until Running | 1.50 s |  |\n| ratio | **3.25** | at most 3: **missed** |\n\
                        | duplicate VMs | 0 | at most 0: met |\n";
        assert_eq!(page.into_text(), expected);
    }
}
