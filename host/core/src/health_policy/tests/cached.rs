use super::*;

fn kept() -> OpinionCache {
    let mut cache = OpinionCache::default();
    cache.keep(&question("m"), 1, healthy("default", at(60)));
    cache
}

fn is_known(cache: &OpinionCache, question: &PolicyQuestion, asked: &[Asked], second: i64) -> bool {
    cache.look_up(question, asked, at(second)).is_some()
}

#[test]
fn an_answer_is_good_for_the_same_question_to_the_same_generation_until_it_ends() {
    let cache = kept();
    assert!(is_known(&cache, &question("m"), &[asked("default", 1)], 0));
    assert!(is_known(&cache, &question("m"), &[asked("default", 1)], 59));
    assert!(!is_known(&cache, &question("m"), &[asked("default", 1)], 60), "it has ended");
    assert!(!is_known(&cache, &question("m"), &[asked("default", 2)], 0), "another generation");
    assert!(!is_known(&cache, &question("n"), &[asked("default", 1)], 0), "another Machine");
    let mut other = question("m");
    other.domain.silent = 1;
    assert!(!is_known(&cache, &other, &[asked("default", 1)], 0), "another question");
}

#[test]
fn one_policy_without_an_answer_has_to_be_asked_alone() {
    let cache = kept();
    let both = [asked("default", 1), asked("zone", 1)];
    assert!(!is_known(&cache, &question("m"), &both, 0));
    assert_eq!(cache.missing(&question("m"), &both, at(0)), [asked("zone", 1)]);
}

#[test]
fn a_change_of_mode_asks_nobody() {
    let enforced = Asked { mode: Mode::Enforce, ..asked("default", 1) };
    let opinions = kept().look_up(&question("m"), &[enforced], at(0)).unwrap();
    assert_eq!(opinions[0].mode, Mode::Enforce);
}

#[test]
fn the_answers_to_an_older_question_go_together() {
    let mut cache = kept();
    let mut other = question("m");
    other.domain.silent = 1;
    cache.keep(&other, 1, healthy("zone", at(60)));
    assert!(is_known(&cache, &other, &[asked("zone", 1)], 0));
    assert!(!is_known(&cache, &other, &[asked("default", 1)], 0));
    assert!(!is_known(&cache, &question("m"), &[asked("default", 1)], 0));
}

#[test]
fn no_policies_need_no_answers_and_a_machine_that_is_gone_keeps_none() {
    let mut cache = kept();
    assert_eq!(cache.look_up(&question("m"), &[], at(0)), Some(Vec::new()));
    cache.forget(&ObjectKey::new("shoot", "m"));
    assert!(cache.is_empty());
}

#[test]
fn opinions_come_in_the_order_in_which_policies_are_heard() {
    let mut cache = kept();
    cache.keep(&question("m"), 3, healthy("alpha", at(60)));
    let names: Vec<PluginName> = cache
        .look_up(&question("m"), &[asked("default", 1), asked("alpha", 3)], at(0))
        .unwrap()
        .into_iter()
        .map(|opinion| opinion.policy)
        .collect();
    assert_eq!(names, ["default".into(), "alpha".into()]);
}
