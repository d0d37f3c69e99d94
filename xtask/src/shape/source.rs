//! The modules of a crate, read from its files the way the compiler finds them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;

/// A module: where it is in its crate, and its items without those of its inline tests.
pub(crate) struct Module {
    /// The names from the root of the crate; empty for the root.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    pub(crate) items: Vec<syn::Item>,
}

/// A crate of the workspace.
pub(crate) struct SourceCrate {
    pub(crate) name: String,
    pub(crate) modules: Vec<Module>,
    /// The files that were read, with their text.
    pub(crate) files: Vec<(PathBuf, String)>,
}

impl SourceCrate {
    /// Reads the crate in a folder, from its `lib.rs` or `main.rs`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut source = Self { name, modules: Vec::new(), files: Vec::new() };
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        let root = roots.iter().find(|root| root.exists()).ok_or_else(|| {
            Failure::new(format!("{} has neither src/lib.rs nor src/main.rs", folder.display()))
        })?;
        source.file(root, Vec::new(), &folder.join("src"))?;
        Ok(source)
    }

    /// Reads a test target of a crate. Its own modules are looked for in `folder`.
    fn read_test(name: String, root: &Path, folder: &Path) -> Result<Self, Failure> {
        let mut source = Self { name, modules: Vec::new(), files: Vec::new() };
        source.file(root, Vec::new(), folder)?;
        Ok(source)
    }

    /// Reads a file as a module. Its own modules are looked for in `folder`.
    fn file(&mut self, file: &Path, path: Vec<String>, folder: &Path) -> Result<(), Failure> {
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        let parsed = syn::parse_file(&text)
            .map_err(|error| Failure::new(format!("cannot parse {}: {error}", file.display())))?;
        self.files.push((file.to_owned(), text));
        self.module(file, path, folder, parsed.items)
    }

    fn module(
        &mut self,
        file: &Path,
        path: Vec<String>,
        folder: &Path,
        items: Vec<syn::Item>,
    ) -> Result<(), Failure> {
        let mut kept = Vec::new();
        for item in items {
            if is_test(attributes(&item)) {
                continue;
            }
            let syn::Item::Mod(module) = item else {
                kept.push(item);
                continue;
            };
            let name = module.ident.to_string();
            let mut inner = path.clone();
            inner.push(name.clone());
            match module.content {
                Some((_, items)) => self.module(file, inner, &folder.join(&name), items)?,
                None => {
                    let beside = folder.join(format!("{name}.rs"));
                    let found = if beside.exists() { beside } else { folder.join(&name).join("mod.rs") };
                    let found = named_path(&module.attrs, folder).unwrap_or(found);
                    self.file(&found, inner, &folder.join(&name))?;
                }
            }
        }
        self.modules.push(Module { path, file: file.to_owned(), items: kept });
        Ok(())
    }
}

/// The crates of the workspace, in the order of their names.
pub(crate) fn crates(root: &Path) -> Result<Vec<SourceCrate>, Failure> {
    let folder = root.join("crates");
    let entries = fs::read_dir(&folder)
        .map_err(|error| Failure::new(format!("cannot list {}: {error}", folder.display())))?;
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.push(root.join("xtask"));
    folders.sort();
    folders
        .iter()
        .filter(|folder| folder.join("Cargo.toml").exists())
        .map(|folder| SourceCrate::read(folder))
        .collect()
}

/// The test targets of the workspace, in the order of their names.
pub(crate) fn tests(root: &Path, crates: &[SourceCrate]) -> Result<Vec<SourceCrate>, Failure> {
    let mut found = Vec::new();
    for source in crates {
        let own =
            if source.name == "xtask" { root.join("xtask") } else { root.join("crates").join(&source.name) };
        let Ok(entries) = fs::read_dir(own.join("tests")) else { continue };
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let name = format!("{} {}", source.name, path.file_stem().unwrap_or_default().to_string_lossy());
            let main = path.join("main.rs");
            if main.exists() {
                found.push(SourceCrate::read_test(name, &main, &path)?);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let folder = path.parent().unwrap_or(root).to_owned();
                found.push(SourceCrate::read_test(name, &path, &folder)?);
            }
        }
    }
    Ok(found)
}

/// A function in the text of a file.
pub(crate) struct FunctionText<'a> {
    pub(crate) name: &'a str,
    /// The line on which it begins.
    pub(crate) line: usize,
    /// The lines that it takes.
    pub(crate) lines: usize,
}

/// The functions of a file. In formatted code, a function ends at the next line that is its closing brace at its own
/// indentation.
pub(crate) fn functions(text: &str) -> Vec<FunctionText<'_>> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let closes = |line: &&str| line.trim_start() == "}" && line.len() == indent + 1;
        let one_line = line.ends_with('}') || line.ends_with(';');
        let end = lines.iter().skip(start + 1).position(closes);
        if let (Some(end), false) = (end, one_line) {
            found.push(FunctionText { name, line: start + 1, lines: end + 2 });
        }
    }
    found
}

/// The name of the function whose signature begins on a line.
fn function_name(line: &str) -> Option<&str> {
    let mut words = line.trim_start().split(' ');
    words
        .by_ref()
        .find(|word| !matches!(*word, "pub" | "const" | "async" | "unsafe") && !word.starts_with("pub("))
        .filter(|word| *word == "fn")?;
    words.next()?.split(['(', '<']).next()
}

/// The line on which a type or trait is defined.
pub(crate) fn definition_line(text: &str, name: &str) -> usize {
    let defines = |line: &str| {
        let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| matches!(word, "struct" | "enum" | "trait" | "union")) && words.next() == Some(name)
    };
    text.lines().position(defines).map_or(0, |line| line + 1)
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// The file that a module names with `#[path]`.
fn named_path(attributes: &[syn::Attribute], folder: &Path) -> Option<PathBuf> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Expr::Lit(value) = &attribute.meta.require_name_value().ok()?.value else { return None };
    let syn::Lit::Str(path) = &value.lit else { return None };
    Some(folder.join(path.value()))
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{definition_line, functions};

    #[test]
    fn functions_end_at_their_own_brace() {
        let text =
            "impl A {\n    pub(crate) async fn one() {\n        if x {\n        }\n    }\n    fn two();\n}\n";
        let found: Vec<_> = functions(text).iter().map(|one| (one.name, one.line, one.lines)).collect();
        assert_eq!(found, [("one", 2, 4)]);
    }

    #[test]
    fn definitions_are_found_by_their_whole_name() {
        assert_eq!(definition_line("struct Runs;\npub(crate) struct Run<'a> {", "Run"), 2);
    }
}
