//! The demo's knowledge: three topics.

use std::fmt::Write as _;

use crate::demo::improvised::Words;

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: &'static str,
    /// A question that contains one of these words is about the topic.
    words: &'static [&'static str],
    pub(super) thought: &'static str,
    pub(super) searches: [Search; 2],
    pub(super) answer: &'static str,
    pub(super) summary: &'static str,
    pub(super) document: &'static str,
    chart_title: &'static str,
    bars: &'static [(&'static str, f64)],
}

#[derive(Debug)]
pub(super) struct Search {
    pub(super) query: &'static str,
    /// Titles and URLs.
    pub(super) pages: [(&'static str, &'static str); 2],
}

const TOPICS: [Topic; 3] = [
    Topic {
        name: "heat pumps",
        words: &["heat", "pump", "pumps", "heating"],
        thought: "They want to know whether it works in the cold. I need the principle and measured values.",
        searches: [
            Search {
                query: "heat pump coefficient of performance by outdoor temperature",
                pages: [
                    ("Heat pumps in the cold: measured values", "https://example.org/heat-pumps/measured"),
                    ("What the coefficient of performance means", "https://example.org/heat-pumps/cop"),
                ],
            },
            Search {
                query: "heat pump old house radiators flow temperature",
                pages: [
                    ("Radiators and flow temperature", "https://example.com/heating/flow-temperature"),
                    ("Three old houses, one winter", "https://example.com/heating/old-houses"),
                ],
            },
        ],
        answer: "\
## Heat pumps in winter

A heat pump does not make heat, it **moves** it: from the air outside into the house. Even air at −10 °C holds heat, only \
less of it, so the pump has to work harder [1].

### How much harder

| outside | heat per kWh of electricity | compared with a heating rod |
|---:|---:|---:|
| 10 °C | 4.6 kWh | 4.6 × |
| 2 °C | 3.6 kWh | 3.6 × |
| −7 °C | 2.7 kWh | 2.7 × |
| −15 °C | 2.1 kWh | 2.1 × |

The number is the *coefficient of performance*. Its upper limit follows from the two temperatures alone [2]:

```python
def limit(inside, outside):      # in °C
    warm = inside + 273.15
    return warm / (inside - outside)

limit(35, -7)                    # 7.3; good machines reach about 40 % of it
```

### What matters more than the weather

- **Flow temperature.** Every degree less in the pipes saves about 2.5 % of the electricity [3].
- **Radiators.** Larger ones allow a lower flow temperature; often two or three of them are enough [4].
- **Running slowly.** A pump that runs all day at low power beats one that starts and stops.

So yes, they work in winter. The question for an old house is not *whether* but *at which flow temperature*.

[1] [2] from the first search, [3] [4] from the second.",
        summary: "a heat pump moves heat instead of making it. At −7 °C it still gives 2.7 times the heat of a heating rod, \
                  and the flow temperature matters more than the weather.",
        document: "Notes on heat pumps.txt",
        chart_title: "Heat per kWh of electricity",
        bars: &[("10 °C", 4.6), ("2 °C", 3.6), ("−7 °C", 2.7), ("−15 °C", 2.1)],
    },
    Topic {
        name: "tides",
        words: &["tide", "tides", "tidal", "ebb"],
        thought: "The usual answer explains one bulge only. I look for the second, and for numbers.",
        searches: [
            Search {
                query: "why two high tides a day second tidal bulge",
                pages: [
                    ("Two bulges, one moon", "https://example.org/tides/two-bulges"),
                    ("Tides without mistakes", "https://example.org/tides/mistakes"),
                ],
            },
            Search {
                query: "tidal range spring tide neap tide sun and moon",
                pages: [
                    ("Springs and neaps", "https://example.com/sea/springs-and-neaps"),
                    ("Why some bays have ten metres", "https://example.com/sea/large-ranges"),
                ],
            },
        ],
        answer: "\
## Two tides a day

The moon pulls on everything, but not equally: what is nearer to it is pulled harder. It is this **difference** that makes \
tides [1].

1. On the near side the water is pulled *more* than the earth: a bulge.
2. On the far side it is pulled *less* than the earth: another bulge.
3. The earth turns under both, so a coast meets two high tides.

### Moon and sun

| | pull on the sea | difference across the earth | tide |
|---|---:|---:|---:|
| moon | 1 | 1 | 54 cm |
| sun | 178 | 0.46 | 25 cm |

The sun pulls far harder, but is so far away that near and far side hardly differ [2]. When both line up there are *spring \
tides*, at right angles *neap tides* [3]:

```text
spring = 54 + 25 = 79 cm
neap   = 54 − 25 = 29 cm
```

### Why some coasts have ten metres

- A bay can **resonate**: water sloshes in its own rhythm, near 12.4 hours.
- A funnel **squeezes** the wave higher as it narrows [4].
- In an enclosed sea there is hardly room for a tide at all.

High tide comes about 50 minutes later each day, because the moon has moved on meanwhile.

[1] [2] from the first search, [3] [4] from the second.",
        summary: "tides come from the difference of the moon's pull across the earth. It raises the sea on the near and on the \
                  far side, and the earth turns under both bulges once a day.",
        document: "Notes on tides.txt",
        chart_title: "Height in open water, in cm",
        bars: &[("spring", 79.0), ("moon", 54.0), ("neap", 29.0), ("sun", 25.0)],
    },
    Topic {
        name: "sourdough",
        words: &["sourdough", "starter", "bread", "dough"],
        thought: "They want a routine that survives a busy week. I need ratios and temperatures.",
        searches: [
            Search {
                query: "sourdough starter feeding ratio temperature schedule",
                pages: [
                    ("Feeding a starter by ratio", "https://example.org/bread/ratios"),
                    ("How warm is your kitchen?", "https://example.org/bread/temperature"),
                ],
            },
            Search {
                query: "sourdough starter in the fridge revive neglected",
                pages: [
                    ("Three weeks in the fridge", "https://example.com/baking/fridge"),
                    ("Signs of a starter in trouble", "https://example.com/baking/trouble"),
                ],
            },
        ],
        answer: "\
## Keeping a sourdough starter alive

A starter is flour, water, yeast and bacteria. It dies of neglect very slowly: what you manage is only **how fast it eats** \
[1].

### A schedule

| where | ratio old : flour : water | feed it |
|---|---|---|
| warm kitchen, 26 °C | 1 : 5 : 5 | every 12 hours |
| cool kitchen, 20 °C | 1 : 2 : 2 | every 24 hours |
| fridge, 5 °C | 1 : 5 : 5 | once a week |

The ratio counts by weight [2]. For 100 g of starter at 1 : 5 : 5:

```text
old    100 / 11 ×  1 =  9 g
flour  100 / 11 ×  5 = 45 g
water  100 / 11 ×  5 = 45 g
```

### When it looks wrong

- **Grey liquid on top** is alcohol: pour it off and feed [3].
- **Smells of acetone**: it is hungry. Two feedings, 12 hours apart.
- **Pink or furry**: mould. Throw it away; this is the only case [4].

Bake when it has doubled and a spoonful floats in water. Out of the fridge that takes two feedings.

[1] [2] from the first search, [3] [4] from the second.",
        summary: "feed a starter twice a day in a warm kitchen, or once a week in the fridge, with five parts flour and water to \
                  one part starter. Only pink or furry ones are lost.",
        document: "Notes on sourdough.txt",
        chart_title: "Hours until a fed starter has doubled",
        bars: &[("26 °C", 5.0), ("23 °C", 7.0), ("20 °C", 10.0), ("17 °C", 15.0)],
    },
];

impl Topic {
    pub(super) fn in_words(words: &Words) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| words.any(topic.words))
    }

    pub(super) fn of_query(query: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.searches.iter().any(|search| search.query == query))
    }

    /// A bar chart as SVG.
    pub(super) fn chart(&self) -> String {
        const WIDTH: f64 = 260.0;
        let most = self.bars.iter().map(|(_, value)| *value).fold(1.0, f64::max);
        let height = 44 + 30 * self.bars.len();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 {height}\" width=\"400\" height=\"{height}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\"><title>{0}</title><rect width=\"400\" \
             height=\"{height}\" rx=\"8\" fill=\"#f4f7f9\"/><text x=\"16\" y=\"26\" font-weight=\"600\" \
             fill=\"#17202b\">{0}</text>",
            self.chart_title
        );
        for (at, (label, value)) in self.bars.iter().enumerate() {
            let (y, width) = (40 + 30 * at, value / most * WIDTH);
            // Writing into a string never fails.
            let _ = write!(
                svg,
                "<text x=\"16\" y=\"{0}\" fill=\"#5a6775\">{label}</text><rect x=\"80\" y=\"{y}\" width=\"{width:.0}\" \
                 height=\"20\" rx=\"3\" fill=\"#0b6e75\"/><text x=\"{1:.0}\" y=\"{0}\" fill=\"#17202b\">{value}</text>",
                y + 15,
                width + 88.0
            );
        }
        svg + "</svg>"
    }
}
