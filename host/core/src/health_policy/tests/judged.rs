use super::*;

fn sick() -> Health {
    Health::Unhealthy { because: "Ready is False".into(), action: Action::Replace }
}

/// `zone! unknown`, `ladder unhealthy reboot`: an exclamation mark enforces.
fn opinion(text: &str) -> Opinion {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap();
    let verdict = match words.next().unwrap() {
        "healthy" => PolicyVerdict::Healthy,
        "unhealthy" => PolicyVerdict::Unhealthy { since: at(-60) },
        "unknown" => PolicyVerdict::Unknown,
        other => panic!("{other}"),
    };
    let action = match words.next() {
        None | Some("none") => Action::None,
        Some("reboot") => Action::Reboot,
        Some("replace") => Action::Replace,
        Some(other) => panic!("{other}"),
    };
    let plain = name.trim_end_matches('!');
    Opinion {
        policy: plain.into(),
        mode: if plain == name { Mode::Observe } else { Mode::Enforce },
        verdict,
        reason: format!("{plain} says so"),
        action,
        holds_until: at(60),
    }
}

fn shown(judgement: &Judgement) -> String {
    let health = match &judgement.health {
        Health::Healthy => "healthy".to_owned(),
        Health::Unhealthy { because, action } => format!("unhealthy, {action}: {because}"),
        Health::Undecided { because } => format!("undecided: {because}"),
    };
    let judge = match &judgement.judge {
        Judge::BuiltIn => "built-in".to_owned(),
        Judge::Policy(name) => name.to_string(),
    };
    let observed: Vec<String> = judgement
        .observed
        .iter()
        .map(|finding| format!("{} {} {}", finding.policy, finding.verdict.as_str(), finding.action))
        .collect();
    format!("{health} ({judge}) [{}]", observed.join(", "))
}

fn check(built_in: &Health, opinions: &[&str], expected: &Expect) {
    let opinions: Vec<Opinion> = opinions.iter().map(|text| opinion(text)).collect();
    let judged = judge(built_in, &opinions);
    expected.assert_eq(&shown(&judged));
    let reversed: Vec<Opinion> = opinions.into_iter().rev().collect();
    assert_eq!(judge(built_in, &reversed), judged, "the order of opinions does not count");
}

#[test]
fn without_a_policy_that_enforces_the_built_in_rule_counts() {
    check(&Health::Healthy, &[], &expect!["healthy (built-in) []"]);
    check(&sick(), &[], &expect!["unhealthy, replace: Ready is False (built-in) []"]);
    check(
        &sick(),
        &["zone unknown", "default unhealthy replace"],
        &expect!["unhealthy, replace: Ready is False (built-in) [zone unknown none]"],
    );
}

#[test]
fn policies_that_observe_tell_what_they_would_have_decided_where_it_differs() {
    check(
        &sick(),
        &["ladder unhealthy reboot", "calm healthy"],
        &expect![
            "unhealthy, replace: Ready is False (built-in) [calm healthy none, ladder unhealthy reboot]"
        ],
    );
    check(
        &Health::Healthy,
        &["calm healthy", "disk unhealthy replace", "zone unknown"],
        &expect!["healthy (built-in) [disk unhealthy replace, zone unknown none]"],
    );
}

#[test]
fn policies_that_enforce_count_instead_of_the_built_in_rule() {
    check(&sick(), &["calm! healthy"], &expect!["healthy (calm) []"]);
    check(
        &Health::Healthy,
        &["disk! unhealthy replace"],
        &expect!["unhealthy, replace: disk says so (disk) []"],
    );
    check(&sick(), &["zone! unknown"], &expect!["undecided: zone says so (zone) []"]);
}

#[test]
fn among_policies_that_enforce_the_one_that_does_not_know_holds_and_the_mildest_action_counts() {
    check(
        &sick(),
        &["default! unhealthy replace", "zone! unknown", "ladder! unhealthy reboot"],
        &expect!["undecided: zone says so (zone) []"],
    );
    check(
        &sick(),
        &["default! unhealthy replace", "zone! healthy", "ladder! unhealthy reboot"],
        &expect!["unhealthy, reboot: ladder says so (ladder) []"],
    );
    check(
        &sick(),
        &["b! unhealthy replace", "a! unhealthy replace", "calm healthy"],
        &expect!["unhealthy, replace: a says so (a) [calm healthy none]"],
    );
}

#[test]
fn it_is_time_to_ask_again_when_the_first_opinion_ends() {
    let mut late = opinion("zone! unknown");
    late.holds_until = at(90);
    let judged = judge(&sick(), &[late, opinion("calm healthy")]);
    assert_eq!(judged.holds_until, Some(at(60)));
    assert_eq!(judge(&sick(), &[]).holds_until, None);
}

/// Every combination of three policies: nothing but an unhealthy verdict of somebody who decides fails a Machine.
#[test]
fn no_machine_is_called_sick_unless_somebody_who_decides_says_so() {
    let verdicts = ["healthy", "unknown", "unhealthy none", "unhealthy reboot", "unhealthy replace"];
    let modes = ["", "!"];
    let each: Vec<String> = modes
        .iter()
        .flat_map(|mode| verdicts.iter().map(move |verdict| format!("{mode} {verdict}")))
        .collect();
    let each = &each;
    let triples =
        each.iter().flat_map(|a| each.iter().flat_map(move |b| each.iter().map(move |c| (a, b, c))));
    for (a, b, c) in triples {
        for built_in in [Health::Healthy, sick()] {
            let opinions = [format!("a{a}"), format!("b{b}"), format!("c{c}")].map(|text| opinion(&text));
            let enforcing: Vec<&Opinion> =
                opinions.iter().filter(|opinion| opinion.mode == Mode::Enforce).collect();
            let judged = judge(&built_in, &opinions);
            let knows = enforcing.iter().all(|opinion| opinion.verdict != PolicyVerdict::Unknown);
            match &judged.health {
                Health::Undecided { .. } => assert!(!knows),
                Health::Healthy | Health::Unhealthy { .. } if enforcing.is_empty() => {
                    assert_eq!(judged.judge, Judge::BuiltIn);
                }
                Health::Healthy => {
                    assert!(knows && enforcing.iter().all(|o| o.verdict == PolicyVerdict::Healthy));
                }
                Health::Unhealthy { action, .. } => {
                    let sick =
                        enforcing.iter().filter(|o| matches!(o.verdict, PolicyVerdict::Unhealthy { .. }));
                    assert!(knows);
                    assert_eq!(sick.map(|opinion| opinion.action).min(), Some(*action));
                }
            }
        }
    }
}
