//! Filling the placeholders of a machine's user data.

/// Replaced by the bootstrap token.
pub const BOOTSTRAP_TOKEN: &str = "<<BOOTSTRAP_TOKEN>>";

/// Replaced by the Machine's name.
pub const MACHINE_NAME: &str = "<<MACHINE_NAME>>";

/// The form of a placeholder in the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// It is absent: nothing was replaced.
    Absent,
    Plain,
    /// Encoded as in the query of a URL, as formats do that carry files in `data:` URLs. So was the replacement.
    Encoded,
}

/// User data for one machine. `Debug` does not show it, since it holds the token.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The user data for the machine.
    pub user_data: Vec<u8>,
    /// The placeholder of the bootstrap token. [`Placeholder::Absent`] as well when there was no token to put in.
    pub token: Placeholder,
    /// The placeholder of the Machine's name.
    pub machine_name: Placeholder,
}

impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendered")
            .field("user_data_bytes", &self.user_data.len())
            .field("token", &self.token)
            .field("machine_name", &self.machine_name)
            .finish()
    }
}

/// Inserts token and name into `template`, at each of their placeholders.
///
/// Each placeholder is handled separately: if its plain form occurs, all plain ones are replaced and encoded ones are
/// left; otherwise the encoded form is searched for, and the replacement is encoded in the same way. Without a token
/// its placeholder stays. Inserted text is not searched again.
///
/// Takes any bytes and never fails; what is no placeholder is carried over as it is.
pub fn render(template: &[u8], token: Option<&str>, machine_name: &str) -> Rendered {
    let token_slot = token.and_then(|token| Slot::find(template, BOOTSTRAP_TOKEN, token));
    let name_slot = Slot::find(template, MACHINE_NAME, machine_name);
    let found = |slot: &Option<Slot>| slot.as_ref().map_or(Placeholder::Absent, |slot| slot.found);
    let (token, machine_name) = (found(&token_slot), found(&name_slot));
    let slots: Vec<Slot> = token_slot.into_iter().chain(name_slot).collect();
    Rendered { user_data: fill(template, &slots), token, machine_name }
}

/// A pattern in the template, and its replacement.
struct Slot {
    found: Placeholder,
    pattern: Vec<u8>,
    value: Vec<u8>,
}

impl Slot {
    fn find(template: &[u8], placeholder: &str, value: &str) -> Option<Self> {
        if contains(template, placeholder.as_bytes()) {
            return Some(Self {
                found: Placeholder::Plain,
                pattern: placeholder.into(),
                value: value.into(),
            });
        }
        let pattern = query_encoded(placeholder).into_bytes();
        let value = query_encoded(value).into_bytes();
        contains(template, &pattern).then_some(Self { found: Placeholder::Encoded, pattern, value })
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn fill(template: &[u8], slots: &[Slot]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(template.len());
    let mut rest = template;
    while let Some((first, tail)) = rest.split_first() {
        let here = slots.iter().find_map(|slot| Some((slot, rest.strip_prefix(slot.pattern.as_slice())?)));
        if let Some((slot, after)) = here {
            filled.extend_from_slice(&slot.value);
            rest = after;
        } else {
            filled.push(*first);
            rest = tail;
        }
    }
    filled
}

/// Encodes for the query of a URL as Go's `url.QueryEscape` does: letters, digits and `-_.~` stay, a blank becomes `+`,
/// every other byte `%XX`.
fn query_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "abcdef.0123456789abcdef";

    fn check(template: &str, expected: &str, token: Placeholder, machine_name: Placeholder) {
        let rendered = render(template.as_bytes(), Some(TOKEN), "shoot--a b/c");
        let user_data = String::from_utf8(rendered.user_data).unwrap();
        assert_eq!(
            (user_data.as_str(), rendered.token, rendered.machine_name),
            (expected, token, machine_name)
        );
    }

    #[test]
    fn plain_placeholders_are_replaced_wherever_they_stand() {
        check(
            "<<MACHINE_NAME>>:<<BOOTSTRAP_TOKEN>>:<<MACHINE_NAME>>",
            "shoot--a b/c:abcdef.0123456789abcdef:shoot--a b/c",
            Placeholder::Plain,
            Placeholder::Plain,
        );
    }

    #[test]
    fn an_encoded_placeholder_gets_an_encoded_value() {
        check(
            "data:,%3C%3CMACHINE_NAME%3E%3E",
            "data:,shoot--a+b%2Fc",
            Placeholder::Absent,
            Placeholder::Encoded,
        );
    }

    #[test]
    fn each_placeholder_is_treated_on_its_own() {
        check(
            "<<BOOTSTRAP_TOKEN>> %3C%3CMACHINE_NAME%3E%3E",
            "abcdef.0123456789abcdef shoot--a+b%2Fc",
            Placeholder::Plain,
            Placeholder::Encoded,
        );
    }

    #[test]
    fn the_encoded_form_is_left_where_the_plain_one_occurs() {
        check(
            "%3C%3CMACHINE_NAME%3E%3E <<MACHINE_NAME>>",
            "%3C%3CMACHINE_NAME%3E%3E shoot--a b/c",
            Placeholder::Absent,
            Placeholder::Plain,
        );
    }

    #[test]
    fn user_data_without_placeholders_stays_as_it_is() {
        check(
            "#!/bin/sh\necho <<NAME>> %3C",
            "#!/bin/sh\necho <<NAME>> %3C",
            Placeholder::Absent,
            Placeholder::Absent,
        );
        check("", "", Placeholder::Absent, Placeholder::Absent);
    }

    #[test]
    fn without_a_token_its_placeholder_stays() {
        let rendered = render(b"<<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>", None, "m");
        assert_eq!(
            (rendered.user_data.as_slice(), rendered.token),
            (&b"<<BOOTSTRAP_TOKEN>> m"[..], Placeholder::Absent)
        );
    }

    #[test]
    fn what_was_put_in_is_not_searched_again() {
        let rendered = render(b"<<MACHINE_NAME>>", Some(TOKEN), "<<BOOTSTRAP_TOKEN>>");
        assert_eq!(rendered.user_data, b"<<BOOTSTRAP_TOKEN>>");
    }

    #[test]
    fn the_token_does_not_show_in_debug_output() {
        let shown = format!("{:?}", render(b"<<BOOTSTRAP_TOKEN>>", Some(TOKEN), "m"));
        assert!(!shown.contains("abcdef"), "{shown}");
    }

    proptest! {
        #[test]
        fn bytes_around_placeholders_are_carried_over(before in any::<Vec<u8>>(), after in any::<Vec<u8>>()) {
            let template = [before.as_slice(), BOOTSTRAP_TOKEN.as_bytes(), after.as_slice()].concat();
            let expected = [before.as_slice(), TOKEN.as_bytes(), after.as_slice()].concat();
            prop_assert_eq!(render(&template, Some(TOKEN), "m").user_data, expected);
        }

        #[test]
        fn bytes_without_placeholders_are_carried_over(template in any::<Vec<u8>>()) {
            prop_assert_eq!(render(&template, Some(TOKEN), "m").user_data, template);
        }
    }
}
