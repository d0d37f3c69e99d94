//! The demo's knowledge about cities. Prices and times are roughly right, all of it made up or common
//! knowledge.

use serde::Serialize;
use serde_json::{Value, json};

pub(super) const HOME: &str = "Frankfurt";

#[derive(Debug, Clone, Copy)]
pub(super) struct City {
    /// `None` for a city that the demo does not know.
    pub(super) known: Option<&'static str>,
    pub(super) about: &'static str,
    /// Degrees Celsius by day in winter, spring, summer and autumn.
    celsius: [i32; 4],
    pub(super) connections: [TravelConnection; 2],
    pub(super) hotel: u32,
    pub(super) meals: u32,
    days: &'static [Sight],
}

/// A way to get there, the better one first.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct TravelConnection {
    pub(super) by: &'static str,
    pub(super) from: &'static str,
    pub(super) duration: &'static str,
    /// One way.
    pub(super) euros: u32,
}

/// A theme for a day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    pub(super) title: &'static str,
    pub(super) morning: &'static str,
    pub(super) afternoon: &'static str,
    /// The afternoon of a relaxed day.
    pub(super) rest: &'static str,
    pub(super) evening: &'static str,
}

const fn way(by: &'static str, duration: &'static str, euros: u32) -> TravelConnection {
    TravelConnection { by, from: HOME, duration, euros }
}

const fn sight(
    title: &'static str,
    morning: &'static str,
    afternoon: &'static str,
    rest: &'static str,
    evening: &'static str,
) -> Sight {
    Sight { title, morning, afternoon, rest, evening }
}

const CITIES: [City; 3] = [
    City {
        known: Some("Lisbon"),
        about: "Lisbon is steep, bright and best on foot, with a tram for the way up",
        celsius: [15, 20, 28, 23],
        connections: [way("flight", "3 h 05 min", 118), way("train", "29 h", 214)],
        hotel: 112,
        meals: 38,
        days: &[
            sight(
                "Alfama and the castle",
                "Walk up through Alfama to the castle before the crowds",
                "The tile museum, and the flea market if it is Tuesday or Saturday",
                "A long lunch at a viewpoint, and no plan after it",
                "Grilled sardines and fado in a small room",
            ),
            sight(
                "Belém along the river",
                "The monastery and the tower at Belém, by the first tram",
                "The museum of art and technology, then back along the water by bicycle",
                "Custard tarts still warm, and a bench by the Tagus",
                "Dinner in the old docks of Alcântara",
            ),
            sight(
                "A day in Sintra",
                "The train to Sintra, and the palace on the hill",
                "Down through the gardens of Regaleira with their spiral well",
                "A slow walk through one garden, and tea in the village",
                "Back in Chiado for seafood rice",
            ),
            sight(
                "Baixa and the other bank",
                "The arcades of Baixa and the lift up to Carmo",
                "The ferry to Cacilhas, and the cliff path to the Christ statue",
                "The ferry to Cacilhas, and a café with the whole city in view",
                "A glass of ginjinha, and a late table in Bairro Alto",
            ),
        ],
    },
    City {
        known: Some("Copenhagen"),
        about: "Copenhagen is flat and easy: rent bicycles on the first day and keep them",
        celsius: [3, 12, 22, 12],
        connections: [way("train", "9 h 40 min", 89), way("flight", "1 h 25 min", 104)],
        hotel: 148,
        meals: 52,
        days: &[
            sight(
                "Harbour and Nyhavn",
                "By bicycle around the inner harbour, with a stop at Nyhavn",
                "The design museum, and the citadel behind it",
                "A swim in the harbour bath, or coffee beside it",
                "Street food on Refshaleøen at sunset",
            ),
            sight(
                "Gardens and towers",
                "Rosenborg and the King's Garden",
                "Up the Round Tower, then the glass houses of the botanical garden",
                "A blanket in the King's Garden, and a bakery on the way",
                "An evening in Tivoli, when the lamps are lit",
            ),
            sight(
                "Louisiana by the sea",
                "The coastal train to the Louisiana museum",
                "The castle at Helsingør, twenty minutes further on",
                "The museum's lawn above the sound, for as long as you like",
                "Natural wine and small plates in Vesterbro",
            ),
        ],
    },
    City {
        known: Some("Kyoto"),
        about: "Kyoto rewards early mornings: the temples are empty before eight",
        celsius: [9, 19, 32, 22],
        connections: [
            way("flight and train", "15 h 30 min", 465),
            way("flight with one change", "19 h", 398),
        ],
        hotel: 124,
        meals: 34,
        days: &[
            sight(
                "The red gates",
                "Up through the gates of Fushimi Inari at sunrise",
                "Tofuku-ji, and the lanes of Gion",
                "A tea house in Gion, and a walk by the canal",
                "Yakitori in Pontocho alley",
            ),
            sight(
                "Bamboo and the river",
                "The bamboo grove of Arashiyama before the first buses",
                "Tenryu-ji, the monkey park, and the bridge",
                "A rowing boat on the river, and nothing else",
                "Tofu in an inn by the water",
            ),
            sight(
                "Gold and stones",
                "The golden pavilion when it opens",
                "The stone garden of Ryoan-ji, and Nijo castle",
                "The stone garden of Ryoan-ji, for an hour",
                "A public bath, and noodles after it",
            ),
            sight(
                "The philosopher's path",
                "From the silver pavilion along the philosopher's path",
                "Nanzen-ji and its aqueduct, then Nishiki market",
                "A garden at Nanzen-ji with a bowl of matcha",
                "Okonomiyaki at a counter",
            ),
            sight(
                "A day in Nara",
                "The train to Nara, and the great Buddha",
                "Kasuga shrine with its lanterns, and the deer park",
                "The deer park, with a picnic",
                "Ramen near the station, and the last train back",
            ),
        ],
    },
];

/// A city that the demo does not know: a plan that works anywhere.
const ANYWHERE: City = City {
    known: None,
    about: "I have no notes of my own on this city, so this is a plan that works almost anywhere",
    celsius: [6, 15, 24, 15],
    connections: [way("train", "6 h 30 min", 84), way("flight", "2 h", 121)],
    hotel: 105,
    meals: 40,
    days: &[
        sight(
            "The old town",
            "A walking tour of the old town, to get your bearings",
            "The main museum, with tickets bought the day before",
            "A café on the main square",
            "Dinner where the menu is short and in one language",
        ),
        sight(
            "Markets and neighbourhoods",
            "The central market, hungry",
            "Two neighbourhoods that are not in the brochure, on foot",
            "One neighbourhood, with a bookshop and a park",
            "Live music in a small place",
        ),
        sight(
            "Out of the city",
            "A train to somewhere green within an hour",
            "A hike, or a second small town on the same line",
            "A long lunch outside",
            "Back in town for a last look from a high place",
        ),
    ],
};

impl City {
    pub(super) fn named(name: &str) -> Self {
        let known =
            CITIES.iter().find(|city| city.known.is_some_and(|known| known.eq_ignore_ascii_case(name)));
        known.copied().unwrap_or(ANYWHERE)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        CITIES.iter().filter_map(|city| city.known)
    }

    pub(super) fn climate(&self, month: Option<&str>) -> Value {
        let season = season(month);
        let celsius = self.celsius.get(season).copied().unwrap_or_default();
        let sky = match celsius {
            ..8 => "grey and short days",
            8..15 => "fresh, with some rain",
            15..26 => "mild and mostly sunny",
            _ => "hot, with cool mornings",
        };
        json!({ "celsius": celsius, "sky": sky })
    }

    /// An endless list of themes: first the city's own sights, then those of any city.
    pub(super) fn sights(&self) -> impl Iterator<Item = &'static Sight> {
        self.days.iter().chain(ANYWHERE.days).cycle()
    }
}

/// The season of a month or of its own name, from winter to autumn. Default: spring.
fn season(name: Option<&str>) -> usize {
    match name.map(str::to_lowercase).as_deref() {
        Some("december" | "january" | "february" | "winter") => 0,
        Some("june" | "july" | "august" | "summer") => 2,
        Some("september" | "october" | "november" | "autumn" | "fall") => 3,
        _ => 1,
    }
}
