//! `cargo xtask shape`: figures about how the code reads, beside their limits.

mod modules;
mod names;
mod prose;
pub(crate) mod source;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::command::Failure;
use crate::report::{Counts, SuiteOutcome};
use crate::root;
use source::SourceCrate;

/// Functions that may be long, in per cent.
const LONG_FUNCTIONS: f64 = 1.2;
/// Lines that a file may have.
const FILE_LINES: usize = 600;
/// Lines that a function may have before it is counted as long.
const FUNCTION_LINES: usize = 60;

/// A figure beside its limit.
struct ShapeFigure {
    name: &'static str,
    value: f64,
    limit: f64,
    /// Where to look, when it is over its limit.
    examples: Vec<String>,
}

/// The part of `cargo xtask test`: fails with the figures that miss their limits.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let figures = figures(root, &source::crates(root)?)?;
    let (mut counts, mut output) = (Counts::default(), String::new());
    for figure in &figures {
        if figure.value <= figure.limit {
            counts.add(Counts::PASSED);
            continue;
        }
        counts.add(Counts::FAILED);
        output = format!("{output}{}: {:.1}, at most {:.1}\n", figure.name, figure.value, figure.limit);
        for example in &figure.examples {
            output = format!("{output}    {example}\n");
        }
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output })
}

pub(crate) fn run(all: bool) -> Result<ExitCode, Failure> {
    let root = root();
    let crates = source::crates(&root)?;
    let figures = figures(&root, &crates)?;
    let mut missed = 0;
    for figure in &figures {
        let met = figure.value <= figure.limit;
        missed += usize::from(!met);
        let mark = if met { "met" } else { "missed" };
        anstream::println!(
            "{:44} {:>8.1}   at most {:>6.1}   {mark}",
            figure.name,
            figure.value,
            figure.limit
        );
        let shown = if all { figure.examples.len() } else { 5 };
        for example in figure.examples.iter().take(if met { 0 } else { shown }) {
            anstream::println!("    {example}");
        }
    }
    anstream::println!("\npublic items per crate:");
    for source in &crates {
        anstream::println!("    {:24} {}", source.name, public_items(source));
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn figures(root: &Path, crates: &[SourceCrate]) -> Result<Vec<ShapeFigure>, Failure> {
    let tests = source::tests(root, crates)?;
    let definitions = names::definitions(crates);
    let test_definitions = names::definitions(&tests);
    let shared = names::shared(&definitions);
    let mut by_count: Vec<_> = shared.iter().collect();
    by_count.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    let shared_examples = by_count.iter().map(|(name, all)| {
        let places: Vec<_> = all.iter().map(|one| names::place(root, &one.file, one.line)).collect();
        format!("{name}: {}", places.join(", "))
    });
    let named = |is: fn(&str) -> bool| {
        let all = definitions.iter().chain(&test_definitions);
        let found = all.filter(|definition| !definition.is_wire && is(&definition.name));
        found
            .map(|one| format!("{}: {}", one.name, names::place(root, &one.file, one.line)))
            .collect::<Vec<_>>()
    };
    let (participles, shadows) = (named(names::is_participle), named(names::shadows));
    let circles = crates.iter().flat_map(|source| {
        modules::circles(source).into_iter().map(|circle| {
            let mut text =
                format!("{} {}: {}", source.name, circle.parent.join("::"), circle.modules.join(", "));
            for (from, to, example) in circle.uses {
                text = format!("{text}\n        {from} uses {to}: {example}");
            }
            text
        })
    });
    let circles: Vec<_> = circles.collect();
    let sizes = all_files(crates, &tests).map(|(file, text)| (file, text.lines().count()));
    let large = sizes.filter(|(_, lines)| *lines > FILE_LINES);
    let large: Vec<_> = large.map(|(file, lines)| names::place(root, file, lines)).collect();
    let (functions, in_tests) = (functions(root, crates), functions(root, &tests));
    let spoken = [&functions.speech[..], &in_tests.speech[..]].concat();
    let prose = prose::findings(root)?;
    let prose_examples = prose.iter().map(|one| {
        format!("{}: \"{}\" in: {}", names::place(root, &one.file, one.line), one.phrase, one.text.trim())
    });
    Ok(vec![
        ShapeFigure {
            name: "type names that another type has (%)",
            value: names::share(&definitions),
            limit: 10.0,
            examples: shared_examples.collect(),
        },
        ShapeFigure {
            name: "participles as type names",
            value: participles.len() as f64,
            limit: 0.0,
            examples: participles,
        },
        ShapeFigure {
            name: "names of the standard library",
            value: shadows.len() as f64,
            limit: 0.0,
            examples: shadows,
        },
        ShapeFigure {
            name: "circles of modules",
            value: circles.len() as f64,
            limit: 0.0,
            examples: circles,
        },
        ShapeFigure {
            name: "functions named after speech",
            value: spoken.len() as f64,
            limit: 0.0,
            examples: spoken,
        },
        ShapeFigure { name: "files over 600 lines", value: large.len() as f64, limit: 0.0, examples: large },
        ShapeFigure {
            name: "functions over 60 lines (%)",
            value: functions.long_share(),
            limit: LONG_FUNCTIONS,
            examples: functions.long_examples(),
        },
        ShapeFigure {
            name: "functions of tests over 60 lines (%)",
            value: in_tests.long_share(),
            limit: LONG_FUNCTIONS,
            examples: in_tests.long_examples(),
        },
        ShapeFigure {
            name: "phrases that readers stumble over",
            value: prose.len() as f64,
            limit: 0.0,
            examples: prose_examples.collect(),
        },
    ])
}

/// All files of crates and of their tests, each once.
fn all_files<'a>(
    crates: &'a [SourceCrate],
    tests: &'a [SourceCrate],
) -> impl Iterator<Item = (&'a PathBuf, &'a String)> {
    let files = crates.iter().chain(tests).flat_map(|source| &source.files);
    files.map(|(file, text)| (file, text)).collect::<BTreeMap<_, _>>().into_iter()
}

/// The functions of the workspace, and those that stand out.
struct FunctionSizes {
    all: usize,
    long: BTreeMap<String, usize>,
    /// Those whose name begins with a word of speech.
    speech: Vec<String>,
}

impl FunctionSizes {
    /// The share of long ones, in per cent.
    fn long_share(&self) -> f64 {
        100.0 * self.long.len() as f64 / self.all.max(1) as f64
    }

    fn long_examples(&self) -> Vec<String> {
        self.long.iter().map(|(place, lines)| format!("{place}: {lines} lines")).collect()
    }
}

fn functions(root: &Path, crates: &[SourceCrate]) -> FunctionSizes {
    let mut found = FunctionSizes { all: 0, long: BTreeMap::new(), speech: Vec::new() };
    for (file, text) in all_files(crates, &[]) {
        for function in source::functions(text) {
            found.all += 1;
            if names::is_speech(function.name) {
                found.speech.push(format!("{} {}", names::place(root, file, function.line), function.name));
            }
            if function.lines > FUNCTION_LINES {
                let place = names::place(root, file, function.line);
                found.long.insert(format!("{place} {}", function.name), function.lines);
            }
        }
    }
    found
}

/// The items of a crate that are marked as public.
fn public_items(source: &SourceCrate) -> usize {
    let items = source.modules.iter().flat_map(|module| &module.items);
    let public = |visibility: &syn::Visibility| matches!(visibility, syn::Visibility::Public(_));
    items
        .filter(|item| match item {
            syn::Item::Struct(item) => public(&item.vis),
            syn::Item::Enum(item) => public(&item.vis),
            syn::Item::Trait(item) => public(&item.vis),
            syn::Item::Fn(item) => public(&item.vis),
            syn::Item::Const(item) => public(&item.vis),
            syn::Item::Type(item) => public(&item.vis),
            _ => false,
        })
        .count()
}
