//! The script in place of a model: it understands simple wishes and plans with [`cities`](super::cities).

use headwater_models::{
    ToolResultOutput,
    scripted::{Call, Rule},
};
use serde_json::{Value, json};

use super::{
    COMMENT, Cost, Day, Intent, Itinerary, LOOK_UP, PLAN, SUMMARIZE, TravelPace, Trip, UNDERSTAND, Wish,
    cities::{City, HOME, Sight},
};
use crate::demo::improvised::{DemoRequest, Words, as_json, literal, literal_json};

/// The maximum length of a trip.
const MAX_DAYS: u32 = 7;

pub(super) fn answer(asked: &DemoRequest<'_>) -> Rule {
    let prompt = asked.input();
    match asked.system().as_str() {
        UNDERSTAND => Rule::always().json(literal_json(as_json(&understand(&prompt)))),
        LOOK_UP => look_up(asked, &prompt),
        PLAN => Rule::always().json(literal_json(as_json(&plan(&prompt).0))).chunk(10),
        COMMENT => Rule::always().text(literal(&plan(&prompt).1)),
        SUMMARIZE => Rule::always().text(literal(&summary(&prompt))),
        other => Rule::always().text(literal(other)),
    }
}

/// The user's message and the itinerary below it.
fn split(prompt: &str) -> (&str, Option<Itinerary>) {
    match prompt.rsplit_once("\n\nItinerary: ") {
        Some((text, itinerary)) => (text, serde_json::from_str(itinerary).ok()),
        None => (prompt, None),
    }
}

fn understand(prompt: &str) -> Wish {
    let (text, itinerary) = split(prompt);
    let words = Words::of(text);
    let before = itinerary.as_ref();
    if before.is_some_and(|itinerary| PlanChange::read(&words, itinerary).is_some()) {
        return Wish { intent: Intent::Change, trip: None };
    }
    let days = days(&words, before);
    let city = city(text).or_else(|| days.and(before.map(|itinerary| itinerary.city.clone())));
    let Some(city) = city else { return Wish { intent: Intent::Unclear, trip: None } };
    let days = days.unwrap_or(3).clamp(1, MAX_DAYS);
    let known = before.map(|itinerary| {
        if itinerary.title.contains("relaxed") { TravelPace::Relaxed } else { TravelPace::Packed }
    });
    let trip = Trip { city, days, month: when(&words), pace: pace(&words).or(known) };
    Wish { intent: Intent::Plan, trip: Some(trip) }
}

fn pace(words: &Words) -> Option<TravelPace> {
    if words.any(&["relaxed", "slow", "slowly", "easy", "calm", "quiet"]) {
        return Some(TravelPace::Relaxed);
    }
    words.any(&["packed", "full", "busy", "everything"]).then_some(TravelPace::Packed)
}

/// The number of days asked for.
fn days(words: &Words, itinerary: Option<&Itinerary>) -> Option<u32> {
    const NAMES: [&str; 7] = ["one", "two", "three", "four", "five", "six", "seven"];
    let now = itinerary.map(|itinerary| itinerary.days.len() as u32);
    if words.phrase("add a day") || words.phrase("one more day") {
        return now.map(|days| days + 1);
    }
    if words.phrase("one day less") {
        return now.map(|days| days.saturating_sub(1));
    }
    if words.any(&["weekend"]) {
        return Some(2);
    }
    let number = |word: &&str| {
        let named = NAMES.iter().zip(1..).find(|(name, _)| *name == word).map(|(_, number)| number);
        word.parse().ok().or(named)
    };
    let all: Vec<_> = words.iter().collect();
    let at = all.iter().position(|word| matches!(*word, "day" | "days"));
    // `3 days`, or `three relaxed days`.
    let before = at.and_then(|at| all.iter().take(at).rev().take(2).find_map(number));
    if before.is_some() {
        return before;
    }
    words.any(&["week"]).then_some(MAX_DAYS)
}

const TIMES: [&str; 17] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "spring",
    "summer",
    "autumn",
    "fall",
    "winter",
];

fn when(words: &Words) -> Option<String> {
    words.iter().find(|word| TIMES.contains(word)).map(capitalized)
}

/// The city named in the text: a known one, or the words after `in`, `to` or `visit`.
fn city(text: &str) -> Option<String> {
    let words = Words::of(text);
    if let Some(known) = City::names().find(|name| words.any(&[&name.to_lowercase()])) {
        return Some(known.to_owned());
    }
    let words: Vec<_> = words.iter().collect();
    let ends = |word: &str| {
        TIMES.contains(&word)
            || word.parse::<u32>().is_ok()
            || ["a", "the", "for", "in", "with", "and", "please", "next", "this", "on", "by", "my", "it"]
                .contains(&word)
    };
    let starts = words.iter().enumerate().filter(|(_, word)| ["in", "to", "visit"].contains(*word));
    let names = starts.map(|(at, _)| {
        let name = words.iter().skip(at + 1).take_while(|word| !ends(word)).take(3);
        name.map(|word| capitalized(word)).collect::<Vec<_>>().join(" ")
    });
    names.rev().find(|name| !name.is_empty())
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Calls both tools at once, then reports their results.
fn look_up(asked: &DemoRequest<'_>, prompt: &str) -> Rule {
    let Ok(trip) = serde_json::from_str::<Trip>(prompt) else { return Rule::always() };
    let called = asked.called();
    let given = |tool: &str| {
        called.iter().find(|call| call.tool == tool).and_then(|call| match call.output {
            ToolResultOutput::Json { value } => Some(value.clone()),
            _ => None,
        })
    };
    let (Some(climate), Some(ways)) = (given("get_climate"), given("find_connections")) else {
        let mut climate = json!({ "city": trip.city });
        if let (Value::Object(fields), Some(month)) = (&mut climate, &trip.month) {
            fields.insert("month".to_owned(), json!(month));
        }
        let calls = [
            Call::new("get_climate", literal_json(climate)),
            Call::new("find_connections", literal_json(json!({ "city": trip.city }))),
        ];
        return Rule::always().reasoning("First the weather and the way there.").tools(calls);
    };
    let when = trip.month.map(|month| format!(" in {month}")).unwrap_or_default();
    let of = |found: &Value, place: &str| match found.pointer(place) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "unknown".to_owned(),
    };
    Rule::always().text(literal(&format!(
        "{}{when} is usually {}, around {} °C. The best way there is by {}: {} from {HOME} for about €{}.",
        trip.city,
        of(&climate, "/sky"),
        of(&climate, "/celsius"),
        of(&ways, "/connections/0/by"),
        of(&ways, "/connections/0/duration"),
        of(&ways, "/connections/0/euros"),
    )))
}

/// The itinerary and a comment on it.
fn plan(prompt: &str) -> (Itinerary, String) {
    if let Ok(trip) = serde_json::from_str::<Trip>(prompt) {
        let about = City::named(&trip.city).about;
        return (planned(&trip), format!("{about}. I am filling in the days now."));
    }
    let (text, itinerary) = split(prompt);
    // A change is only planned if there is an itinerary.
    let mut itinerary = itinerary
        .unwrap_or_else(|| planned(&Trip { city: text.to_owned(), days: 1, month: None, pace: None }));
    let comment = match PlanChange::read(&Words::of(text), &itinerary) {
        Some(change) => change.make(&mut itinerary),
        None => "Nothing is changed.".to_owned(),
    };
    (itinerary, comment)
}

fn planned(trip: &Trip) -> Itinerary {
    let is_slow = trip.pace == Some(TravelPace::Relaxed);
    let days: Vec<_> = City::named(&trip.city)
        .sights()
        .zip(1..=trip.days)
        .map(|(sight, day)| Day {
            day,
            title: sight.title.to_owned(),
            morning: sight.morning.to_owned(),
            afternoon: if is_slow { sight.rest } else { sight.afternoon }.to_owned(),
            evening: sight.evening.to_owned(),
        })
        .collect();
    let count = trip.days;
    let span =
        match &trip.month {
            Some(month) if TIMES.iter().take(12).any(|name| month.eq_ignore_ascii_case(name)) => {
                if count == 1 { format!("12 {month}") } else { format!("12–{} {month}", 11 + count) }
            }
            Some(season) => format!("{}, in {}", plural(count, "day"), season.to_lowercase()),
            None => format!("{}, whenever you like", plural(count, "day")),
        };
    let pace = if is_slow { "relaxed" } else { "full" };
    let title = format!("{count} {pace} {} in {}", if count == 1 { "day" } else { "days" }, trip.city);
    let mut itinerary =
        Itinerary { title, city: trip.city.clone(), dates: span, days, costs: Vec::new(), total: 0 };
    price(&mut itinerary, false);
    itinerary
}

fn plural(count: u32, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Adds up the costs.
fn price(itinerary: &mut Itinerary, is_cheap: bool) {
    let city = City::named(&itinerary.city);
    let count = itinerary.days.len() as u32;
    let nights = count.saturating_sub(1);
    let slow = itinerary.days.iter().filter(|day| is_slow(&city, day)).count() as u32;
    let [first, second] = city.connections;
    let way = if is_cheap && second.euros < first.euros { second } else { first };
    let (bed, rate) = if is_cheap { ("Guesthouse", city.hotel * 11 / 20) } else { ("Hotel", city.hotel) };
    let (food, meals) =
        if is_cheap { ("Markets and lunch menus", city.meals * 13 / 20) } else { ("Meals", city.meals) };
    let cost = |item: String, euros: u32| Cost { item, euros };
    let mut costs = vec![cost(format!("{} there and back", capitalized(way.by)), way.euros * 2)];
    if nights > 0 {
        costs.push(cost(format!("{bed}, {}", plural(nights, "night")), rate * nights));
    }
    costs.push(cost(format!("{food}, {}", plural(count, "day")), meals * count));
    costs.push(cost("Tickets and local transport".to_owned(), 22 * (count - slow) + 9 * slow));
    itinerary.total = costs.iter().map(|cost| cost.euros).sum();
    itinerary.costs = costs;
}

fn is_slow(city: &City, day: &Day) -> bool {
    sight_of(city, day).is_some_and(|sight| sight.rest == day.afternoon)
}

fn sight_of(city: &City, day: &Day) -> Option<&'static Sight> {
    city.sights().take(2 * MAX_DAYS as usize).find(|sight| sight.title == day.title)
}

/// A change to an itinerary.
#[derive(Debug, Clone, Copy)]
enum PlanChange {
    Swap(u32, u32),
    /// Of one day, or of all.
    Pace(TravelPace, Option<u32>),
    Cheaper,
}

impl PlanChange {
    fn read(words: &Words, itinerary: &Itinerary) -> Option<Self> {
        let exists = |number: &u32| (1..=itinerary.days.len() as u32).contains(number);
        let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).filter(exists).collect();
        if words.any(&["swap", "switch", "exchange"]) {
            return match numbers.as_slice() {
                [first, second, ..] if first != second => Some(Self::Swap(*first, *second)),
                _ => None,
            };
        }
        if words.any(&["cheaper", "cheap", "budget"]) || words.phrase("less expensive") {
            return Some(Self::Cheaper);
        }
        let slower = words.any(&["slower", "easier", "lighter", "calmer", "less"]);
        let fuller = words.any(&["fuller", "busier", "more"]) && !words.any(&["day"])
            || words.any(&["fuller", "busier"]);
        let pace = if slower {
            TravelPace::Relaxed
        } else if fuller {
            TravelPace::Packed
        } else {
            return None;
        };
        // `day 9` of a trip of three days matches no day, rather than all of them.
        match (words.any(&["day"]), numbers.first()) {
            (true, None) => None,
            (_, day) => Some(Self::Pace(pace, day.copied())),
        }
    }

    /// Applies the change and returns a sentence about it.
    fn make(self, itinerary: &mut Itinerary) -> String {
        let city = City::named(&itinerary.city);
        let was_cheap = itinerary.costs.iter().any(|cost| cost.item.starts_with("Markets"));
        let before = itinerary.total;
        match self {
            Self::Swap(first, second) => {
                itinerary.days.swap(first as usize - 1, second as usize - 1);
                for (day, number) in itinerary.days.iter_mut().zip(1..) {
                    day.day = number;
                }
                price(itinerary, was_cheap);
                format!("Days {first} and {second} have changed places; everything else stays.")
            }
            Self::Pace(pace, which) => {
                for day in itinerary.days.iter_mut().filter(|day| which.is_none_or(|which| which == day.day))
                {
                    if let Some(sight) = sight_of(&city, day) {
                        day.afternoon =
                            if pace == TravelPace::Relaxed { sight.rest } else { sight.afternoon }.to_owned();
                    }
                }
                price(itinerary, was_cheap);
                let what = which.map_or("Every day".to_owned(), |which| format!("Day {which}"));
                match pace {
                    TravelPace::Relaxed => format!("{what} now has a free afternoon."),
                    TravelPace::Packed => format!("{what} now has something to see all afternoon."),
                }
            }
            Self::Cheaper => {
                price(itinerary, true);
                match before.saturating_sub(itinerary.total) {
                    0 => "This is already the cheapest plan that I have.".to_owned(),
                    saved => format!(
                        "A guesthouse and market lunches save about €{saved}; the days stay as they are."
                    ),
                }
            }
        }
    }
}

fn summary(prompt: &str) -> String {
    let Ok(itinerary) = serde_json::from_str::<Itinerary>(prompt) else { return String::new() };
    let days = itinerary
        .days
        .iter()
        .map(|day| format!("- **Day {}: {}.** {}. {}.", day.day, day.title, day.morning, day.afternoon));
    let days = days.collect::<Vec<_>>().join("\n");
    let city = City::named(&itinerary.city);
    let is_full = itinerary.days.first().is_some_and(|day| !is_slow(&city, day));
    let pace = if is_full { "slower" } else { "fuller" };
    let second = if itinerary.days.len() > 1 { "`swap day 1 and 2`, " } else { "" };
    format!(
        "### {}\n\n*{}, about €{} for one person*\n\n{days}\n\nTo change it, say {second}`make day 1 {pace}` or `cheaper`.",
        itinerary.title, itinerary.dates, itinerary.total
    )
}
