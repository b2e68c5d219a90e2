//! Lists and their pages.

use hcloud::models::{Meta, Pagination};

use super::Request;
use crate::project::labels::{Labels, Selector};
use crate::project::{Outcome, Refusal};

const PER_PAGE: usize = 25;
const MOST_PER_PAGE: usize = 50;

/// The filters that every list has.
pub(super) struct Filter<'a> {
    name: Option<&'a str>,
    selector: Selector,
}

impl<'a> Filter<'a> {
    pub(super) fn of(request: &'a Request) -> Outcome<Self> {
        let selector = Selector::parse(request.one("label_selector").unwrap_or_default())?;
        Ok(Self { name: request.one("name"), selector })
    }

    pub(super) fn fits(&self, name: &str, labels: &Labels) -> bool {
        self.name.is_none_or(|wanted| wanted == name) && self.selector.fits(labels)
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.is_none_or(|wanted| wanted == name)
    }
}

/// Cuts the page out of all entries that a request means.
pub(super) fn cut<T>(request: &Request, all: Vec<T>) -> Outcome<(Vec<T>, Box<Meta>)> {
    let number = |key: &str, otherwise: usize| match request.one(key).map(str::parse::<usize>) {
        None => Ok(otherwise),
        Some(Ok(number)) if number > 0 => Ok(number),
        Some(_) => Err(Refusal::invalid(key, format!("invalid {key}"))),
    };
    let (page, per_page) = (number("page", 1)?, number("per_page", PER_PAGE)?);
    if per_page > MOST_PER_PAGE {
        return Err(Refusal::invalid("per_page", "per_page is at most 50"));
    }
    let total = all.len();
    let last = total.div_ceil(per_page).max(1);
    let entries: Vec<T> = all.into_iter().skip((page - 1) * per_page).take(per_page).collect();
    let id = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let pagination = Pagination {
        last_page: Some(id(last)),
        next_page: (page < last).then(|| id(page + 1)),
        page: id(page),
        per_page: id(per_page),
        previous_page: (page > 1).then(|| id(page - 1)),
        total_entries: Some(id(total)),
    };
    Ok((entries, Box::new(Meta { pagination: Box::new(pagination) })))
}
