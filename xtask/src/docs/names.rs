//! Names of our Rust API in the pages: `Type::method` and `agent.method()` in code spans must exist.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::Event;
use syn::visit::Visit;

use super::MarkdownPage;
use super::links::parser;
use crate::shape::source::SourceCrate;

/// What the pages call values, and the types of those.
const VALUES: [(&str, &[&str]); 6] = [
    ("agent", &["Agent"]),
    ("client", &["Client"]),
    ("run", &["Run", "RunHandle"]),
    ("server", &["Server"]),
    ("session", &["Session", "SessionHandle"]),
    ("store", &["Store"]),
];

/// Pages about JavaScript: their objects have the same names.
const OTHER_LANGUAGE: [&str; 2] = ["docs/web.md", "docs/guides"];

/// Names that no type has.
pub(super) fn check(crates: &[SourceCrate], pages: &[MarkdownPage]) -> Vec<String> {
    let members = Members::of(crates);
    let mut problems = Vec::new();
    for page in pages.iter().filter(|page| !OTHER_LANGUAGE.iter().any(|other| page.path.starts_with(other))) {
        for event in parser(&page.text) {
            let Event::Code(code) = event else { continue };
            if let Some(missing) = members.missing(&code) {
                problems.push(format!("{}: `{code}`: there is no `{missing}`", page.path.display()));
            }
        }
    }
    problems
}

/// The functions, variants and fields of each type and trait, of all crates.
#[derive(Default)]
struct Members(BTreeMap<String, BTreeSet<String>>);

impl Members {
    fn of(crates: &[SourceCrate]) -> Self {
        let mut members = Self::default();
        for module in crates.iter().flat_map(|source| &source.modules) {
            module.items.iter().for_each(|item| members.visit_item(item));
        }
        members
    }

    /// The member that a piece of code names and that does not exist. `None` if the code names another thing.
    fn missing(&self, code: &str) -> Option<String> {
        if let Some((path, member)) = code.split_once("::").filter(|(path, _)| is_name(path)) {
            let (known, member) = (self.0.get(path)?, name_at_start(member));
            return (!member.is_empty() && !known.contains(member)).then(|| format!("{path}::{member}"));
        }
        let (value, call) = code.split_once('.')?;
        let (_, types) = VALUES.iter().find(|(name, _)| *name == value)?;
        let member = name_at_start(call);
        let is_call = call.get(member.len()..).is_some_and(|rest| rest.starts_with('('));
        let exists = types.iter().any(|name| self.0.get(*name).is_some_and(|known| known.contains(member)));
        (is_call && !exists).then(|| format!("{value}.{member}"))
    }

    fn add(&mut self, name: &syn::Ident, member: &syn::Ident) {
        self.0.entry(name.to_string()).or_default().insert(member.to_string());
    }
}

impl<'ast> Visit<'ast> for Members {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(path) = &*item.self_ty else { return };
        let Some(name) = path.path.segments.last() else { return };
        for member in &item.items {
            match member {
                syn::ImplItem::Fn(function) => self.add(&name.ident, &function.sig.ident),
                syn::ImplItem::Const(constant) => self.add(&name.ident, &constant.ident),
                _ => {}
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        for member in &item.items {
            match member {
                syn::TraitItem::Fn(function) => self.add(&item.ident, &function.sig.ident),
                syn::TraitItem::Const(constant) => self.add(&item.ident, &constant.ident),
                _ => {}
            }
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        item.variants.iter().for_each(|variant| self.add(&item.ident, &variant.ident));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let names = item.fields.iter().filter_map(|field| field.ident.as_ref());
        names.for_each(|field| self.add(&item.ident, field));
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn name_at_start(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::check;
    use crate::docs::MarkdownPage;
    use crate::shape::source::{Module, SourceCrate};

    fn problems(code: &str, text: &str) -> Vec<String> {
        let items = syn::parse_file(code).unwrap().items;
        let modules = vec![Module { path: Vec::new(), file: PathBuf::from("lib.rs"), items }];
        let source = SourceCrate { name: "x".to_owned(), modules, files: Vec::new() };
        check(&[source], &[MarkdownPage { path: PathBuf::from("docs/a.md"), text: text.to_owned() }])
    }

    #[test]
    fn missing_members_are_found() {
        let code = "struct Agent { name: u8 } impl Agent { fn start(&self) {} } enum Mode { On }";
        let text = "`Agent::start(x)`, `Agent::tend`, `agent.start()`, `agent.tend()`, `agent.name`, `Mode::On`, `Mode::Off`";
        let expected = [
            "docs/a.md: `Agent::tend`: there is no `Agent::tend`",
            "docs/a.md: `agent.tend()`: there is no `agent.tend`",
            "docs/a.md: `Mode::Off`: there is no `Mode::Off`",
        ];
        assert_eq!(problems(code, text), expected);
    }

    #[test]
    fn names_of_others_are_not_checked() {
        assert_eq!(
            problems("struct Agent;", "`Arc::new`, `docs::page`, `run the agent`"),
            Vec::<String>::new()
        );
    }
}
