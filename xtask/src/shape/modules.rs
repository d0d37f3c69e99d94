//! Which modules of a crate use which, and the circles among them.
//!
//! Modules side by side must not need each other in a circle: then each can be read, moved and tested without the others. A
//! module and its own submodules may.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::source::{Module, SourceCrate};

/// Modules side by side that need each other in a circle, with one use for each step of it.
pub(crate) struct Circle {
    /// The module that holds them; empty for the root of the crate.
    pub(crate) parent: Vec<String>,
    pub(crate) modules: Vec<String>,
    /// One use for each pair: from, to, and an example.
    pub(crate) uses: Vec<(String, String, String)>,
}

/// The uses between modules with the same parent: parent, from, to, and all examples.
type Uses = BTreeMap<Vec<String>, BTreeMap<(String, String), BTreeSet<String>>>;

/// All circles of a crate.
pub(crate) fn circles(source: &SourceCrate) -> Vec<Circle> {
    let uses = uses(source);
    let mut circles = Vec::new();
    for (parent, edges) in uses {
        for modules in components(&edges) {
            let inside = |name: &String| modules.contains(name);
            let uses = edges
                .iter()
                .filter(|((from, to), _)| inside(from) && inside(to))
                .map(|((from, to), examples)| {
                    let shown: Vec<_> = examples.iter().take(4).map(String::as_str).collect();
                    (from.clone(), to.clone(), format!("{} ({})", shown.join(", "), examples.len()))
                })
                .collect();
            circles.push(Circle { parent: parent.clone(), modules, uses });
        }
    }
    circles
}

fn uses(source: &SourceCrate) -> Uses {
    let names = UsedNames::of(source);
    let mut uses = Uses::new();
    for module in &source.modules {
        let mut found = Paths::default();
        module.items.iter().for_each(|item| found.visit_item(item));
        for path in found.paths {
            let Some(absolute) = absolute(&module.path, &path) else { continue };
            let target = names.module_of(&absolute, 0);
            let shared = module.path.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (module.path.get(shared), target.get(shared)) else { continue };
            let parent: Vec<_> = module.path.iter().take(shared).cloned().collect();
            let example = format!("{}: {}", module.path.join("::"), absolute.join("::"));
            uses.entry(parent).or_default().entry((from.clone(), to.clone())).or_default().insert(example);
        }
    }
    uses
}

/// What the modules of a crate define and pass on.
struct UsedNames {
    modules: BTreeSet<Vec<String>>,
    /// A name that a module takes from elsewhere, and its whole path.
    imports: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl UsedNames {
    fn of(source: &SourceCrate) -> Self {
        let modules: BTreeSet<_> = source.modules.iter().map(|module| module.path.clone()).collect();
        let mut imports = BTreeMap::new();
        for module in &source.modules {
            for (name, path) in imported(module) {
                let path = absolute(&module.path, &path).or_else(|| {
                    // A path that begins with a submodule.
                    let mut inner = module.path.clone();
                    inner.push(path.first()?.clone());
                    modules.contains(&inner).then(|| module.path.iter().chain(&path).cloned().collect())
                });
                if let Some(path) = path {
                    imports.insert((module.path.clone(), name), path);
                }
            }
        }
        Self { modules, imports }
    }

    /// The module that defines what a path from the root leads to.
    fn module_of(&self, path: &[String], depth: usize) -> Vec<String> {
        let is_module = |end: &usize| path.get(..*end).is_some_and(|path| self.modules.contains(path));
        let deepest = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let module: Vec<_> = path.iter().take(deepest).cloned().collect();
        let Some(name) = path.get(deepest) else { return module };
        match self.imports.get(&(module.clone(), name.clone())) {
            Some(elsewhere) if depth < 8 => {
                let rest = path.get(deepest + 1..).unwrap_or_default();
                let whole: Vec<_> = elsewhere.iter().chain(rest).cloned().collect();
                self.module_of(&whole, depth + 1)
            }
            _ => module,
        }
    }
}

/// The names that a module's `use` items bring in, with their paths as written.
fn imported(module: &Module) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for item in &module.items {
        if let syn::Item::Use(item) = item {
            flatten(&item.tree, &mut Vec::new(), &mut found);
        }
    }
    found
}

fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        syn::UseTree::Name(name) => {
            let mut path = before.clone();
            path.push(name.ident.to_string());
            found.push((name.ident.to_string(), path));
        }
        syn::UseTree::Rename(rename) => {
            let mut path = before.clone();
            path.push(rename.ident.to_string());
            found.push((rename.rename.to_string(), path));
        }
        syn::UseTree::Glob(_) => found.push(("*".to_owned(), before.clone())),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, found)),
    }
}

/// A path as seen from the root of the crate; `None` for one of another crate or of something local.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut rest = path.iter().peekable();
    let mut base = match rest.peek()?.as_str() {
        "crate" => {
            rest.next();
            Vec::new()
        }
        "self" => {
            rest.next();
            module.to_vec()
        }
        "super" => module.to_vec(),
        _ => return None,
    };
    while rest.peek().is_some_and(|name| *name == "super") {
        rest.next();
        base.pop();
    }
    base.extend(rest.cloned());
    Some(base)
}

/// All paths that something names.
#[derive(Default)]
struct Paths {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        self.paths.extend(found.into_iter().map(|(_, path)| path));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    /// The inside of a macro is tokens only: paths in it are found by their beginning.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }
}

impl Paths {
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.keep(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                proc_macro2::TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                proc_macro2::TokenTree::Group(group) => {
                    self.keep(&mut path);
                    colons = 0;
                    self.tokens(group.stream());
                }
                _ => {
                    self.keep(&mut path);
                    colons = 0;
                }
            }
        }
        self.keep(&mut path);
    }

    fn keep(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.paths.push(std::mem::take(path));
        }
        path.clear();
    }
}

/// The groups of modules in which each reaches each other one.
fn components(edges: &BTreeMap<(String, String), BTreeSet<String>>) -> Vec<Vec<String>> {
    let nodes: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach = |start: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(node) = next.pop() {
            for (from, to) in edges.keys() {
                if *from == node && seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        nodes.iter().map(|node| (*node, reach(node))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (node, seen) in &reached {
        let group: Vec<String> = seen
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*node)))
            .cloned()
            .collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}
