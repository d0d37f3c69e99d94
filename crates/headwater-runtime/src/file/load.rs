//! Reads a file and its includes into one set of definitions.

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
    format::{
        AgentText, FileClient, FileVisibility, LimitsText, WorkflowText, http::HttpToolText, mcp::McpText,
        model::ModelText,
    },
    span::{SourceText, TextSpan, WithSpan},
};

use crate::WhenBusy;

/// Maximum size of a file; far above any real one, so that a wrong path does not fill the memory.
const MAX_BYTES: u64 = 16 << 20;

/// A definition and the file it comes from.
#[derive(Debug)]
pub(super) struct SourceDefinition<T> {
    pub(super) name: WithSpan<String>,
    pub(super) value: T,
    pub(super) source: Arc<SourceText>,
}

/// A workflow and a hash of its content.
#[derive(Debug)]
pub(super) struct WorkflowPart {
    pub(super) text: WorkflowText,
    pub(super) hash: String,
}

/// The definitions of all files.
#[derive(Debug)]
pub(super) struct AgentParts {
    /// The first file.
    pub(super) root: Arc<SourceText>,
    pub(super) name: Option<WithSpan<String>>,
    pub(super) description: Option<String>,
    pub(super) suggestions: Vec<String>,
    pub(super) limits: Option<LimitsText>,
    pub(super) visibility: FileVisibility,
    pub(super) client: FileClient,
    pub(super) when_busy: Option<WhenBusy>,
    pub(super) default_workflow: Option<WithSpan<String>>,
    pub(super) models: Vec<SourceDefinition<WithSpan<ModelText>>>,
    pub(super) tools: Vec<SourceDefinition<()>>,
    pub(super) http: Vec<Arc<SourceDefinition<HttpToolText>>>,
    pub(super) mcp: Vec<SourceDefinition<McpText>>,
    pub(super) functions: Vec<SourceDefinition<()>>,
    pub(super) workflows: Vec<SourceDefinition<WorkflowPart>>,
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

/// Parses a text and all its includes.
pub(super) fn load(path: &Path, text: String) -> Result<AgentParts, Vec<FileError>> {
    let root = Arc::new(SourceText { name: path.display().to_string(), text });
    let read = parse(&root).map_err(|error| vec![error])?;
    let mut loading = Loader {
        parts: AgentParts {
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
            http: Vec::new(),
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

fn parse(source: &SourceText) -> Result<AgentText, FileError> {
    serde_saphyr::from_str(&source.text).map_err(|error| {
        // Reports a syntax error as such, instead of the missing field that it causes.
        let syntax = serde_saphyr::from_str::<serde::de::IgnoredAny>(&source.text).err();
        FileError::yaml(source, syntax.unwrap_or(error))
    })
}

/// The canonical path, so that two spellings of one file count as one. A text that is not a file keeps its
/// name.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

struct Loader {
    parts: AgentParts,
    /// The chain of includes down to the current file, to detect circles.
    under_way: Vec<PathBuf>,
    done: Vec<PathBuf>,
    errors: Vec<FileError>,
}

impl Loader {
    /// Adds the definitions of a file, after those of its includes. Returns its limits: only those of the
    /// first file apply.
    fn take(&mut self, path: &Path, source: &Arc<SourceText>, read: AgentText) -> Option<LimitsText> {
        for include in &read.include {
            self.include(path, source, include);
        }
        let Self { parts, errors, .. } = self;
        define(&mut parts.models, "model", source, read.models.0, errors);
        // Several files may refer to the same tool.
        let names = |names: Vec<WithSpan<String>>| names.into_iter().map(|name| (name, ())).collect();
        mention(&mut parts.tools, source, names(read.tools));
        mention(&mut parts.functions, source, names(read.functions));
        let mut http = Vec::new();
        define(&mut http, "HTTP tool", source, read.http.0, errors);
        parts.http.extend(http.into_iter().map(Arc::new));
        define(&mut parts.mcp, "MCP server", source, read.mcp.0, errors);
        let mut hashes = if read.workflows.0.is_empty() { HashMap::new() } else { hashes(source) };
        let workflows = read.workflows.0.into_iter().map(|(name, text)| {
            let hash = hashes.remove(&name.value).unwrap_or_default();
            (name, WorkflowPart { text, hash })
        });
        define(&mut parts.workflows, "workflow", source, workflows.collect(), errors);
        read.limits
    }

    fn include(&mut self, from: &Path, source: &Arc<SourceText>, include: &WithSpan<String>) {
        let path = from.parent().unwrap_or(Path::new("")).join(&include.value);
        let fail = |message: String| FileError::new(FileErrorKind::Include, source, include.span, message);
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
        let source = Arc::new(SourceText { name: path.display().to_string(), text });
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

/// Adds definitions; a second one of the same name is an error.
fn define<T>(
    all: &mut Vec<SourceDefinition<T>>,
    what: &str,
    source: &Arc<SourceText>,
    new: Vec<(WithSpan<String>, T)>,
    errors: &mut Vec<FileError>,
) {
    for (name, value) in new {
        if let Some(first) = all.iter().find(|known| known.name.value == name.value) {
            let TextSpan { line, column, .. } = first.name.span;
            let message = format!(
                "duplicate {what} `{}`: first defined at {}:{line}:{column}",
                name.value, first.source.name
            );
            errors.push(FileError::new(FileErrorKind::Include, source, name.span, message));
            continue;
        }
        all.push(SourceDefinition { name, value, source: source.clone() });
    }
}

/// Adds references; repeating one is allowed.
fn mention<T>(all: &mut Vec<SourceDefinition<T>>, source: &Arc<SourceText>, new: Vec<(WithSpan<String>, T)>) {
    for (name, value) in new {
        if !all.iter().any(|known| known.name.value == name.value) {
            all.push(SourceDefinition { name, value, source: source.clone() });
        }
    }
}

/// A hash of each workflow's content, independent of layout and field order. It is computed from the file,
/// not from the parsed types, so that a release with more fields does not change it.
fn hashes(source: &SourceText) -> HashMap<String, String> {
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
        // A version given in a file cannot contain `~`, so the two never collide.
        let hash = format!("~{hash}");
        (id, hash)
    };
    workflows.into_iter().map(hash).collect()
}
