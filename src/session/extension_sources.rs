//! Which files an extension consists of, as far as that is told without running it.

use super::extension_models::of_pi;
use crate::items::resource_files::is_package;
use ignore::{DirEntry, WalkBuilder};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How files with code end.
const MODULES: [&str; 6] = ["ts", "js", "mts", "mjs", "cts", "cjs"];
/// Folders below that of an extension are looked through as deep as this, and as many files.
const DEEPEST: usize = 4;
const MOST_FILES: usize = 500;

/// The files that an extension may consist of: its own, and those of its package, or of the folder whose index it is.
#[derive(Debug)]
pub(super) struct Sources {
    entry: PathBuf,
    folder: Option<PathBuf>,
    /// npm installed the package, and changes its `package.json` with it.
    installed: bool,
}

impl Sources {
    pub(super) fn of(entry: &Path) -> Self {
        let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A project that is a package itself is not the folder of what lies in its `.pi`.
        let is_inside = |folder: &&Path| !name(folder).starts_with('.') && name(folder) != "node_modules";
        let mut around = entry.ancestors().skip(1).take(DEEPEST).take_while(is_inside);
        let package = around.find(|folder| is_package(folder));
        let installed =
            package.is_some_and(|package| package.ancestors().skip(1).take(2).any(|one| name(one) == "node_modules"));
        let is_index = entry.file_stem().is_some_and(|stem| stem == "index");
        let folder = package.or_else(|| entry.parent().filter(|_| is_index)).map(Path::to_owned);
        Self { entry: entry.to_owned(), folder, installed }
    }

    /// The files that tell whether it was changed.
    pub(super) fn watched(&self) -> Vec<PathBuf> {
        match &self.folder {
            Some(folder) if self.installed => vec![self.entry.clone(), folder.join("package.json")],
            _ => self.modules(),
        }
    }

    /// All of them, its own first.
    fn modules(&self) -> Vec<PathBuf> {
        let mut modules = vec![self.entry.clone()];
        let Some(folder) = &self.folder else { return modules };
        let mut walk = WalkBuilder::new(folder);
        walk.standard_filters(false).hidden(true).max_depth(Some(DEEPEST)).sort_by_file_name(Ord::cmp);
        walk.filter_entry(|entry| entry.file_name() != "node_modules");
        let files = walk.build().filter_map(Result::ok).map(DirEntry::into_path);
        let is_module = |path: &PathBuf| {
            MODULES.iter().any(|ending| path.extension().is_some_and(|other| other == *ending)) && path.is_file()
        };
        modules.extend(files.filter(is_module).filter(|file| *file != self.entry).take(MOST_FILES));
        modules
    }

    /// How they are now: bytes of all, and the last change in milliseconds since 1970.
    pub(super) fn stamp(&self) -> Option<(u64, u128)> {
        let stamps = self.watched().into_iter().map(|path| {
            let meta = path.metadata().ok()?;
            Some((meta.len(), meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis()))
        });
        stamps.reduce(|all, one| all.zip(one).map(|(all, one)| (all.0 + one.0, all.1.max(one.1))))?
    }

    /// Whether one of them has these words, or cannot be read.
    pub(super) fn hold(&self, words: &str) -> bool {
        self.modules().iter().any(|path| {
            fs::read(path).map_or(true, |text| text.windows(words.len()).any(|part| part == words.as_bytes()))
        })
    }

    /// Whether one of them calls `function` with the name of a provider, as it is called here or by pi, or cannot be read.
    pub(super) fn call_with(&self, function: &str, provider: &str) -> bool {
        let is_first = |rest: &str| {
            let argument = rest.trim_start().strip_prefix('(').map(str::trim_start).unwrap_or_default();
            ['"', '\'', '`']
                .iter()
                .filter_map(|quote| argument.strip_prefix(*quote)?.split_once(*quote))
                .any(|(name, _)| name == provider || name == of_pi(provider))
        };
        let modules = self.modules().into_iter();
        let mut texts = modules.map(|path| fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned()));
        texts.any(|text| text.map_or(true, |text| text.split(function).skip(1).any(is_first)))
    }
}
