//! Runs the checks on the tree.

use anyhow::Result;
use tidy::{Complaint, checks, tree};

fn assert_none(complaints: &[Complaint]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// A check over all files.
fn on_the_tree(check: fn(&[tree::File]) -> Vec<Complaint>) -> Result<()> {
    let files = tree::files()?;
    assert!(files.iter().any(|file| file.path == "Cargo.toml"), "the tree is not where it is looked for");
    assert_none(&check(&files));
    Ok(())
}

#[test]
fn crates_know_only_what_the_architecture_lets_them_know() -> Result<()> {
    assert_none(&tidy::crates::edges::check(&tidy::crates::edges::graph()?));
    Ok(())
}

#[test]
fn the_core_looks_at_nothing_by_itself() -> Result<()> {
    on_the_tree(tidy::crates::purity::check)
}

#[test]
fn nothing_is_left_unfinished() -> Result<()> {
    on_the_tree(tidy::marks::check)
}

#[test]
fn files_are_short() -> Result<()> {
    on_the_tree(tidy::layout::sizes::check)
}

#[test]
fn decisions_are_one_page_each_and_numbered() -> Result<()> {
    on_the_tree(tidy::documents::decisions::check)
}

#[test]
fn nothing_is_of_one_machine_only() -> Result<()> {
    on_the_tree(tidy::paths::check)
}

#[test]
fn manifests_share_lints_and_versions() -> Result<()> {
    on_the_tree(tidy::crates::manifests::check)
}

#[test]
fn links_lead_somewhere() -> Result<()> {
    on_the_tree(tidy::documents::links::check)
}

#[test]
fn paths_in_backticks_lead_somewhere() -> Result<()> {
    on_the_tree(tidy::documents::paths::check)
}

#[test]
fn each_function_of_the_contracts_has_a_page() -> Result<()> {
    on_the_tree(tidy::documents::pages::check)
}

#[test]
fn copies_of_a_contract_are_the_same() -> Result<()> {
    on_the_tree(tidy::wit::check)
}

#[test]
fn frozen_contracts_are_as_they_were() -> Result<()> {
    on_the_tree(tidy::wit::check_frozen)
}

#[test]
fn the_licence_is_there() -> Result<()> {
    on_the_tree(tidy::crates::licence::check)
}

#[test]
fn the_threat_model_names_each_attack_and_no_other() -> Result<()> {
    on_the_tree(tidy::documents::attacks::check)
}

#[test]
fn sentences_start_with_the_thing_that_acts() -> Result<()> {
    on_the_tree(|files| checks::SENTENCE_HEADS.run(files))
}

#[test]
fn lines_of_prose_are_short() -> Result<()> {
    on_the_tree(|files| checks::COLUMNS.run(files))
}

#[test]
fn documentation_says_more_than_the_name() -> Result<()> {
    on_the_tree(|files| checks::SHORT_DOCS.run(files))
}

#[test]
fn a_crate_has_one_type_of_a_name() -> Result<()> {
    on_the_tree(|files| checks::TYPE_NAMES.run(files))
}

#[test]
fn folders_are_small() -> Result<()> {
    on_the_tree(|files| checks::SIBLINGS.run(files))
}

#[test]
fn top_modules_are_in_no_circle() -> Result<()> {
    on_the_tree(|files| checks::CIRCLES.run(files))
}

#[test]
fn the_head_of_a_file_is_its_table_of_contents() -> Result<()> {
    on_the_tree(|files| checks::CONTENTS.run(files))
}

#[test]
fn words_are_those_of_the_field() -> Result<()> {
    on_the_tree(|files| checks::PRIVATE_WORDS.run(files))
}

#[test]
fn each_list_of_exceptions_has_a_check() -> Result<()> {
    on_the_tree(checks::check_lists)
}
