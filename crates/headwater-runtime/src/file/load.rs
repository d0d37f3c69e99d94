//! Reading a file and those that it includes, into one description.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    error::{FileError, FileErrorKind},
    format::{AgentText, FileClient, FileVisibility, LimitsText, ModelText, WorkflowText, mcp::McpText},
    place::{Place, Placed, Source},
};

use crate::WhenBusy;

/// How large a file may be: far larger than anybody writes.
const MAX_BYTES: u64 = 16 << 20;

/// Something that a file defines, and which file that was.
#[derive(Debug)]
pub(super) struct Defined<T> {
    pub(super) name: Placed<String>,
    pub(super) value: T,
    pub(super) source: Arc<Source>,
}

/// A workflow, and a word that changes with its content.
#[derive(Debug)]
pub(super) struct WorkflowPart {
    pub(super) text: WorkflowText,
    pub(super) hash: String,
}

/// What all files say together.
#[derive(Debug)]
pub(super) struct Parts {
    /// The file that was read first.
    pub(super) root: Arc<Source>,
    pub(super) name: Option<Placed<String>>,
    pub(super) description: Option<String>,
    pub(super) suggestions: Vec<String>,
    pub(super) limits: Option<LimitsText>,
    pub(super) visibility: FileVisibility,
    pub(super) client: FileClient,
    pub(super) when_busy: Option<WhenBusy>,
    pub(super) default_workflow: Option<Placed<String>>,
    pub(super) models: Vec<Defined<Placed<ModelText>>>,
    pub(super) tools: Vec<Defined<()>>,
    pub(super) mcp: Vec<Defined<McpText>>,
    pub(super) functions: Vec<Defined<()>>,
    pub(super) workflows: Vec<Defined<WorkflowPart>>,
    pub(super) files: Vec<PathBuf>,
}

/// Reads the text of a file.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if length > MAX_BYTES {
        let message = format!("it has {length} bytes, at most {MAX_BYTES} are read");
        return Err(io::Error::other(message));
    }
    fs::read_to_string(path)
}

/// Reads a text and all that it includes.
pub(super) fn load(path: &Path, text: String) -> Result<Parts, Vec<FileError>> {
    let root = Arc::new(Source { name: path.display().to_string(), text });
    let read = parse(&root).map_err(|error| vec![error])?;
    let mut loading = Loading {
        parts: Parts {
            root: root.clone(),
            name: read.name.clone(),
            description: read.description.clone(),
            suggestions: read.suggestions.clone(),
            limits: None,
            visibility: read.visibility,
            client: read.client.clone(),
            when_busy: read.when_busy,
            default_workflow: read.default_workflow.clone(),
            models: Vec::new(),
            tools: Vec::new(),
            mcp: Vec::new(),
            functions: Vec::new(),
            workflows: Vec::new(),
            files: vec![path.to_owned()],
        },
        under_way: vec![identity(path)],
        done: Vec::new(),
        errors: Vec::new(),
    };
    loading.parts.limits = loading.take(path, &root, read);
    if loading.errors.is_empty() { Ok(loading.parts) } else { Err(loading.errors) }
}

fn parse(source: &Source) -> Result<AgentText, FileError> {
    serde_saphyr::from_str(&source.text).map_err(|error| {
        // A text that is not YAML is told as such, and not as a field that is missing because it ended too soon.
        let syntax = serde_saphyr::from_str::<serde::de::IgnoredAny>(&source.text).err();
        FileError::yaml(source, syntax.unwrap_or(error))
    })
}

/// What a file is, however it is named. A text that was never a file is what it is called.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

struct Loading {
    parts: Parts,
    /// The files that include each other, down to the one that is being read.
    under_way: Vec<PathBuf>,
    done: Vec<PathBuf>,
    errors: Vec<FileError>,
}

impl Loading {
    /// Takes what a file says, after what it includes. Gives its limits, which count in the first file only.
    fn take(&mut self, path: &Path, source: &Arc<Source>, read: AgentText) -> Option<LimitsText> {
        for include in &read.include {
            self.include(path, source, include);
        }
        let Self { parts, errors, .. } = self;
        define(&mut parts.models, "model", source, read.models.0, errors);
        // The same tool may be named by several files: it is one tool.
        let names = |names: Vec<Placed<String>>| names.into_iter().map(|name| (name, ())).collect();
        mention(&mut parts.tools, source, names(read.tools));
        mention(&mut parts.functions, source, names(read.functions));
        define(&mut parts.mcp, "MCP server", source, read.mcp.0, errors);
        let mut hashes = if read.workflows.0.is_empty() { HashMap::new() } else { hashes(source) };
        let workflows = read.workflows.0.into_iter().map(|(name, text)| {
            let hash = hashes.remove(&name.value).unwrap_or_default();
            (name, WorkflowPart { text, hash })
        });
        define(&mut parts.workflows, "workflow", source, workflows.collect(), errors);
        read.limits
    }

    fn include(&mut self, from: &Path, source: &Arc<Source>, include: &Placed<String>) {
        let path = from.parent().unwrap_or(Path::new("")).join(&include.value);
        let fail = |message: String| FileError::new(FileErrorKind::Include, source, include.place, message);
        let same = identity(&path);
        if let Some(at) = self.under_way.iter().position(|under_way| *under_way == same) {
            let circle = self.under_way.iter().skip(at).chain([&same]);
            let circle: Vec<_> = circle.map(|path| file_name(path)).collect();
            self.errors
                .push(fail(format!("the files include each other in a circle: {}", circle.join(" → "))));
            return;
        }
        if self.done.contains(&same) {
            return;
        }
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) => {
                let error = FileError::reading(&path, &error);
                self.errors.push(fail(format!("cannot include `{}`: {}", include.value, error.message())));
                return;
            }
        };
        let source = Arc::new(Source { name: path.display().to_string(), text });
        self.parts.files.push(path.clone());
        match parse(&source) {
            Ok(read) => {
                self.under_way.push(same);
                self.take(&path, &source, read);
                self.done.extend(self.under_way.pop());
            }
            Err(error) => self.errors.push(error),
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Adds what a file defines; nothing may be defined twice.
fn define<T>(
    all: &mut Vec<Defined<T>>,
    what: &str,
    source: &Arc<Source>,
    new: Vec<(Placed<String>, T)>,
    errors: &mut Vec<FileError>,
) {
    for (name, value) in new {
        if let Some(first) = all.iter().find(|known| known.name.value == name.value) {
            let Place { line, column, .. } = first.name.place;
            let message = format!(
                "{what} `{}` is defined twice: first at {}:{line}:{column}",
                name.value, first.source.name
            );
            errors.push(FileError::new(FileErrorKind::Include, source, name.place, message));
            continue;
        }
        all.push(Defined { name, value, source: source.clone() });
    }
}

/// Adds what a file names; it may be named again.
fn mention<T>(all: &mut Vec<Defined<T>>, source: &Arc<Source>, new: Vec<(Placed<String>, T)>) {
    for (name, value) in new {
        if !all.iter().any(|known| known.name.value == name.value) {
            all.push(Defined { name, value, source: source.clone() });
        }
    }
}

/// A word for the content of each workflow: the same for the same content, however it is laid out and in whatever order
/// its fields are. It is made from the file and not from what we read of it, so that a release of ours that knows more
/// fields does not change it.
fn hashes(source: &Source) -> HashMap<String, String> {
    let Ok(Value::Object(mut file)) = serde_saphyr::from_str::<Value>(&source.text) else {
        return HashMap::new();
    };
    let Some(Value::Object(workflows)) = file.remove("workflows") else { return HashMap::new() };
    let hash = |(id, mut workflow): (String, Value)| {
        if let Value::Object(workflow) = &mut workflow {
            workflow.remove("version");
        }
        workflow.sort_all_objects();
        let digest = Sha256::digest(workflow.to_string());
        let hash: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        // No version that a file gives has a `~`.
        let hash = format!("~{hash}");
        (id, hash)
    };
    workflows.into_iter().map(hash).collect()
}
