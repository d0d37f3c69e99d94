//! The names of types: which are used twice, and which say too little.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::Visit;

use super::source::{SourceCrate, definition_line};

/// Names that every crate may have, because they mean the same everywhere.
const EVERYWHERE: [&str; 6] = ["Error", "ErrorKind", "Options", "Arguments", "Builder", "Limits"];

/// Names of the standard library that a reader takes for those.
const STANDARD: [&str; 91] = [
    "From",
    "Into",
    "TryFrom",
    "TryInto",
    "Option",
    "Some",
    "None",
    "Ok",
    "Err",
    "Box",
    "Vec",
    "String",
    "ToString",
    "Iterator",
    "IntoIterator",
    "Extend",
    "Default",
    "Clone",
    "Copy",
    "Drop",
    "Send",
    "Sync",
    "Fn",
    "FnMut",
    "FnOnce",
    "Debug",
    "Display",
    "Eq",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Hash",
    "AsRef",
    "AsMut",
    "Future",
    "Rc",
    "Arc",
    "Cell",
    "Mutex",
    "Path",
    "PathBuf",
    "RefCell",
    "Ref",
    "Weak",
    "RwLock",
    "Condvar",
    "Barrier",
    "Once",
    "OnceLock",
    "LazyLock",
    "Cow",
    "Any",
    "Range",
    "Ordering",
    "Duration",
    "Instant",
    "SystemTime",
    "Read",
    "Write",
    "Seek",
    "BufRead",
    "File",
    "Metadata",
    "Command",
    "Child",
    "Stdio",
    "ExitCode",
    "Thread",
    "Sender",
    "Receiver",
    "Pin",
    "Poll",
    "Context",
    "Waker",
    "Formatter",
    "HashMap",
    "HashSet",
    "BTreeMap",
    "BTreeSet",
    "VecDeque",
    "Entry",
    "Hasher",
    "Index",
    "Add",
    "Not",
    "Deref",
    "Borrow",
    "Layout",
    "Wrapping",
    "TcpStream",
    "OsStr",
];

/// Past tenses and participles without the ending `ed`.
const IRREGULAR: [&str; 131] = [
    "Ate",
    "Became",
    "Began",
    "Begun",
    "Bent",
    "Bit",
    "Bitten",
    "Blown",
    "Bore",
    "Borne",
    "Bought",
    "Bound",
    "Bred",
    "Broke",
    "Broken",
    "Brought",
    "Built",
    "Burnt",
    "Came",
    "Cast",
    "Caught",
    "Chose",
    "Chosen",
    "Clung",
    "Crept",
    "Cut",
    "Dealt",
    "Did",
    "Done",
    "Drawn",
    "Drew",
    "Driven",
    "Drove",
    "Fed",
    "Fell",
    "Fallen",
    "Felt",
    "Fled",
    "Flew",
    "Flown",
    "Forgot",
    "Forgotten",
    "Fought",
    "Found",
    "Froze",
    "Frozen",
    "Gave",
    "Given",
    "Going",
    "Gone",
    "Got",
    "Grew",
    "Grown",
    "Had",
    "Heard",
    "Held",
    "Hid",
    "Hidden",
    "Hung",
    "Hurt",
    "Kept",
    "Knew",
    "Known",
    "Laid",
    "Led",
    "Left",
    "Lent",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Paid",
    "Put",
    "Ran",
    "Rang",
    "Risen",
    "Rose",
    "Said",
    "Sank",
    "Sat",
    "Saw",
    "Seen",
    "Sent",
    "Shaken",
    "Shone",
    "Shook",
    "Shot",
    "Shown",
    "Shrank",
    "Shrunk",
    "Shut",
    "Slept",
    "Slid",
    "Slung",
    "Sold",
    "Sought",
    "Spent",
    "Spoke",
    "Spoken",
    "Spread",
    "Sprung",
    "Stole",
    "Stolen",
    "Stood",
    "Struck",
    "Stuck",
    "Sunk",
    "Swept",
    "Swum",
    "Swung",
    "Taken",
    "Taught",
    "Thought",
    "Threw",
    "Thrown",
    "Told",
    "Took",
    "Tore",
    "Torn",
    "Understood",
    "Went",
    "Woke",
    "Woken",
    "Won",
    "Wore",
    "Worn",
    "Wove",
    "Woven",
    "Wrote",
    "Written",
    "Wrung",
];

/// Words of speech with which no name of a function begins: data is sent, received and recorded.
const SPEECH: [&str; 6] = ["say", "tell", "told", "hear", "heard", "note"];

/// Functions that keep such a word, because people use it for them.
const SPOKEN: [&str; 1] = ["note"];

/// Words that end in `ed` and are not participles, and `Embedded`, which is what people call such a store, as in `Memory`,
/// `Redis` and `Postgres`.
const NOUNS: [&str; 9] = ["Embed", "Embedded", "Feed", "Need", "Seed", "Shed", "Speed", "Bed", "Red"];

/// The macro that declares the chunks of a dialect. They are called what the other project calls them.
const CHUNKS: &str = "chunks";
/// The macro that declares types by their names only.
const IDS: &str = "ids";
/// The enum whose variants name the events of our own wire. The payload of an event has the name of the event.
const EVENTS: &str = "Event";

/// A definition of a type or trait.
pub(crate) struct TypeDefinition {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    /// It has the name that a wire gives it: the payload of an event, or the chunk of another project. Such a name is not ours
    /// to choose, or is the one that a reader of the wire looks for.
    pub(crate) is_wire: bool,
}

/// All definitions of types and traits of the workspace, also those in functions and in our own macros.
pub(crate) fn definitions(crates: &[SourceCrate]) -> Vec<TypeDefinition> {
    let mut found = Vec::new();
    for source in crates {
        found.extend(definitions_of(source));
    }
    found
}

fn definitions_of(source: &SourceCrate) -> Vec<TypeDefinition> {
    let mut found = Vec::new();
    let mut events = BTreeSet::new();
    for module in &source.modules {
        let text =
            source.files.iter().find(|(file, _)| *file == module.file).map_or("", |(_, text)| text.as_str());
        let mut types = Types::default();
        module.items.iter().for_each(|item| types.visit_item(item));
        events.extend(types.events);
        found.extend(types.found.into_iter().map(|(name, is_wire)| TypeDefinition {
            file: module.file.clone(),
            line: definition_line(text, &name),
            is_wire,
            name,
        }));
    }
    for definition in &mut found {
        definition.is_wire |= events.contains(&definition.name);
    }
    found
}

/// The types and traits of a module.
#[derive(Default)]
struct Types {
    /// Each with whether it is a chunk.
    found: Vec<(String, bool)>,
    /// The variants of the enum of events.
    events: Vec<String>,
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.found.push((item.ident.to_string(), false));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if item.ident == EVENTS {
            self.events.extend(item.variants.iter().map(|variant| variant.ident.to_string()));
        }
        self.found.push((item.ident.to_string(), false));
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.found.push((item.ident.to_string(), false));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.found.push((item.ident.to_string(), false));
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        // What a macro's definition declares has a name only where the macro is used.
        if !item.mac.path.is_ident("macro_rules") {
            let declared = declared(&item.mac);
            let is_chunk = item.mac.path.is_ident(CHUNKS);
            self.found.extend(declared.into_iter().map(|name| (name, is_chunk)));
        }
    }
}

/// The names that come after the keywords of types in the tokens of a macro.
fn declared(call: &syn::Macro) -> Vec<String> {
    let lists_names = call.path.is_ident(IDS);
    let mut names = Vec::new();
    let mut follows_keyword = false;
    for token in call.tokens.clone() {
        let proc_macro2::TokenTree::Ident(word) = token else {
            follows_keyword = false;
            continue;
        };
        if follows_keyword || lists_names {
            names.push(word.to_string());
        }
        follows_keyword = ["struct", "enum", "trait", "union"].iter().any(|keyword| word == keyword);
    }
    names
}

/// The names that several definitions have, with those definitions.
pub(crate) fn shared(definitions: &[TypeDefinition]) -> BTreeMap<&str, Vec<&TypeDefinition>> {
    let mut by_name: BTreeMap<&str, Vec<&TypeDefinition>> = BTreeMap::new();
    let ours = |definition: &&TypeDefinition| !definition.is_wire && !EVERYWHERE.contains(&&*definition.name);
    for definition in definitions.iter().filter(ours) {
        let all = by_name.entry(&definition.name).or_default();
        // Two in one file are the same type under two conditions, such as a feature or a system.
        if all.iter().all(|other| other.file != definition.file) {
            all.push(definition);
        }
    }
    by_name.retain(|_, all| all.len() > 1);
    by_name
}

/// Whether a name is a participle, or ends with one.
pub(crate) fn is_participle(name: &str) -> bool {
    let last = last_word(name);
    IRREGULAR.contains(&last) || (last.ends_with("ed") && last.len() > 3 && !NOUNS.contains(&last))
}

/// Whether the name of a function begins with a word of speech.
pub(crate) fn is_speech(name: &str) -> bool {
    let first = name.split('_').next().unwrap_or(name);
    SPEECH.contains(&first) && !SPOKEN.contains(&name)
}

/// Whether a name is one of the standard library.
pub(crate) fn shadows(name: &str) -> bool {
    STANDARD.contains(&name)
}

/// The last word of a name in camel case.
fn last_word(name: &str) -> &str {
    let start = name.rfind(|letter: char| letter.is_ascii_uppercase()).unwrap_or(0);
    name.get(start..).unwrap_or(name)
}

/// A place in a file of the workspace.
pub(crate) fn place(root: &Path, file: &Path, line: usize) -> String {
    format!("{}:{line}", file.strip_prefix(root).unwrap_or(file).display())
}

/// The share of definitions whose name another one has, in per cent.
pub(crate) fn share(definitions: &[TypeDefinition]) -> f64 {
    let shared: BTreeSet<_> = shared(definitions).into_keys().collect();
    let ours = || definitions.iter().filter(|definition| !definition.is_wire);
    let all = ours().count();
    let many = ours().filter(|definition| shared.contains(&*definition.name)).count();
    100.0 * many as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::source::{Module, SourceCrate};
    use super::{definitions, is_participle, is_speech, shadows};

    fn names_in(text: &str) -> Vec<(String, bool)> {
        let file = PathBuf::from("lib.rs");
        let items = syn::parse_file(text).unwrap().items;
        let modules = vec![Module { path: Vec::new(), file: file.clone(), items }];
        let source = SourceCrate { name: "x".to_owned(), modules, files: vec![(file, text.to_owned())] };
        definitions(&[source]).into_iter().map(|one| (one.name, one.is_wire)).collect()
    }

    #[test]
    fn types_in_functions_and_macros_are_read() {
        let text = "fn f() { struct Local; }
            macro_rules! json_struct { () => { struct Unnamed; } }
            json_struct! { /// One.
                pub struct Declared { pub id: struct_of, } }
            ids! { /// Id of a run.
                RunId, }";
        let names: Vec<_> = names_in(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Local", "Declared", "RunId"]);
    }

    #[test]
    fn payloads_and_chunks_have_the_names_of_their_wire() {
        let text = "enum Event { RunStarted(RunStarted) } struct RunStarted; struct RunLimit;
            chunks! { struct TextDelta { delta: text, } }";
        let wire: Vec<_> = names_in(text).into_iter().filter(|(_, is_wire)| *is_wire).collect();
        assert_eq!(wire, [("RunStarted".to_owned(), true), ("TextDelta".to_owned(), true)]);
    }

    #[test]
    fn participles_are_recognised_by_their_last_word() {
        for name in ["Begun", "RunDriven", "Parked", "Seen", "Swept", "Gave", "Going"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["RunSpec", "RandomSeed", "Feed", "SentMessage", "TimeLimit"] {
            assert!(!is_participle(name), "{name}");
        }
    }

    #[test]
    fn functions_that_begin_with_speech_are_recognised() {
        for name in ["say_end", "tell_wait", "told", "note_end"] {
            assert!(is_speech(name), "{name}");
        }
        for name in ["emit_end", "saying", "teller", "note"] {
            assert!(!is_speech(name), "{name}");
        }
    }

    #[test]
    fn names_of_the_standard_library_are_recognised() {
        assert!(shadows("From"));
        assert!(shadows("Metadata"));
        assert!(!shadows("ReadFrom"));
    }
}
