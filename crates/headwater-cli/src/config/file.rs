//! Reads settings from a TOML file.

use std::{ops::Range, path::Path};

use toml::de::{DeTable, DeValue};

use super::{
    keys::{SettingKey, SettingKind},
    parse,
    value::{SettingValue, named, unknown},
};
use crate::failure::CommandFailure;

/// A setting, its value, and its line in the file.
type FileSetting = (&'static SettingKey, SettingValue, usize);

/// Reads the settings of a file. All errors are reported together.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<FileSetting>, CommandFailure> {
    let mut reader = TableReader { path, text, found: Vec::new(), wrong: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reader.table("", table.get_ref()),
        Err(error) => reader.blame(error.span().unwrap_or_default(), error.message()),
    }
    if reader.wrong.is_empty() { Ok(reader.found) } else { Err(CommandFailure::new(reader.wrong.join("\n"))) }
}

struct TableReader<'t> {
    path: &'t Path,
    text: &'t str,
    found: Vec<FileSetting>,
    wrong: Vec<String>,
}

impl TableReader<'_> {
    fn table(&mut self, within: &str, table: &DeTable<'_>) {
        for (name, value) in table.iter() {
            let place = name.span();
            let name = format!("{within}{}", name.get_ref());
            match (SettingKey::find(&name), value.get_ref()) {
                (Some(key), value) => match self.value(key, value) {
                    Ok(value) => self.found.push((key, value, self.line(&place))),
                    Err(wrong) => self.blame(place, &format!("`{name}`: {wrong}")),
                },
                (None, DeValue::Table(table)) if is_group(&name) => self.table(&format!("{name}."), table),
                (None, _) => self.blame(place, &unknown(&name)),
            }
        }
    }

    fn value(&self, key: &SettingKey, value: &DeValue<'_>) -> Result<SettingValue, String> {
        let path = |text: &str| {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            folder.join(text).display().to_string()
        };
        match (key.kind, value) {
            (SettingKind::Secrets, DeValue::Table(table)) => table
                .iter()
                .map(|(name, secret)| {
                    let (name, secret) = (name.get_ref(), scalar(secret.get_ref())?);
                    if !parse::is_name(name) {
                        return Err(format!(
                            "invalid name {name:?}: use letters, digits, `-`, `_`, `.` and `@`"
                        ));
                    }
                    named(&format!("{name}={secret}"))
                })
                .collect::<Result<_, _>>()
                .map(SettingValue::Secrets),
            (SettingKind::Secrets, _) => {
                Err("write a table of names and keys: `[api_keys]`, `web = \"…\"`".to_owned())
            }
            (SettingKind::Many, DeValue::Array(items)) => items
                .iter()
                .map(|item| scalar(item.get_ref()))
                .collect::<Result<_, _>>()
                .map(SettingValue::Many),
            (SettingKind::Paths, DeValue::Array(items)) => {
                let items = items.iter().map(|item| Ok(path(&scalar(item.get_ref())?)));
                items.collect::<Result<_, String>>().map(SettingValue::Many)
            }
            (SettingKind::Many, value) => Ok(SettingValue::Many(vec![scalar(value)?])),
            (SettingKind::Paths, value) => Ok(SettingValue::Many(vec![path(&scalar(value)?)])),
            (SettingKind::Path, value) => Ok(SettingValue::One(path(&scalar(value)?))),
            (SettingKind::One | SettingKind::Secret, value) => Ok(SettingValue::One(scalar(value)?)),
        }
    }

    fn line(&self, place: &Range<usize>) -> usize {
        let before = self.text.get(..place.start).unwrap_or_default();
        1 + before.matches('\n').count()
    }

    fn blame(&mut self, place: Range<usize>, wrong: &str) {
        let before = self.text.get(..place.start).unwrap_or_default();
        let column = 1 + before.chars().rev().take_while(|char| *char != '\n').count();
        self.wrong.push(format!("{}:{}:{column}: {wrong}", self.path.display(), self.line(&place)));
    }
}

/// Whether the name is a table that contains settings.
fn is_group(name: &str) -> bool {
    super::KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(group, _)| group == name))
}

fn scalar(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Boolean(switch) => Ok(switch.to_string()),
        other => Err(format!("expected a string in quotes, found {}", other.type_str())),
    }
}
