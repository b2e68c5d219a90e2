use super::*;

fn check(stored: &str, now: i64, expected: &Expect) {
    let shown = match Reboots::parse(Some(stored)).next(at(now)) {
        RebootStep::Reboot(reboots) => {
            assert_eq!(Reboots::parse(Some(&reboots.render())), reboots, "what is written can be read");
            let times: Vec<i64> =
                reboots.times().iter().map(|time| time.duration_since(at(0)).as_secs()).collect();
            format!("reboot {times:?}")
        }
        RebootStep::NotBefore(time) => format!("not before {}", time.duration_since(at(0)).as_secs()),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_vm_is_rebooted_once_in_an_interval() {
    check("", 0, &expect!["reboot [0]"]);
    check(&at(0).to_string(), 599, &expect!["not before 600"]);
    check(&at(0).to_string(), 600, &expect!["reboot [0, 600]"]);
}

#[test]
fn what_cannot_be_read_or_lies_ahead_of_the_clock_does_not_hold_reboots_for_ever() {
    check("yesterday,,nonsense", 0, &expect!["reboot [0]"]);
    check(&at(90_000).to_string(), 0, &expect!["reboot [0]"]);
    check(&format!("{},{}", at(90_000), at(-30)), 0, &expect!["not before 570"]);
}

#[test]
fn only_the_last_ten_are_remembered() {
    let stored: Vec<String> = (0..12).map(|index| at(index * 600).to_string()).collect();
    let RebootStep::Reboot(reboots) = Reboots::parse(Some(&stored.join(","))).next(at(7_200)) else {
        panic!("it is time")
    };
    assert_eq!(reboots.times().len(), 10);
    assert_eq!(reboots.times().first(), Some(&at(1_800)));
    assert_eq!(Reboots::parse(None).times(), []);
}
