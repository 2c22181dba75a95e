//! What a person has allowed for good: `approvals.toml` in their folder, by project and capability.

use crate::domain::{Problem, Severity};
use crate::ports::Approvals;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const HEAD: &str = "# What you always allow, by project. Remove a line to be asked again.\n\n";

/// The answers for one project.
#[derive(Clone, Debug)]
pub(super) struct ApprovalsFile {
    path: PathBuf,
    project: String,
}

impl ApprovalsFile {
    pub(super) fn new(config: &Path, project: &Path) -> Self {
        Self { path: config.join("approvals.toml"), project: project.display().to_string() }
    }

    /// What is allowed in the project. A file that does not read allows nothing, and is told.
    pub(super) fn allowed(&self) -> (Vec<String>, Option<Problem>) {
        match self.read() {
            Ok(table) => (capabilities(&table, &self.project), None),
            Err(message) => {
                let remedy = "fix or remove it; until then the calls it allows need approval";
                (Vec::new(), Some(Problem::at(&self.path, None, Severity::Warning, message, remedy)))
            }
        }
    }

    fn read(&self) -> Result<Table, String> {
        match fs::read_to_string(&self.path) {
            Ok(text) => text.parse().map_err(|error: toml::de::Error| format!("is not TOML: {}", error.message())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Table::new()),
            Err(error) => Err(format!("could not be read: {error}")),
        }
    }

    fn write(&self, table: &Table) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(HEAD.as_bytes())?;
        file.write_all(toml::to_string(table).map_err(io::Error::other)?.as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn capabilities(table: &Table, project: &str) -> Vec<String> {
    let list = table.get(project).and_then(|entry| entry.get("allow")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

impl Approvals for ApprovalsFile {
    fn keep(&self, capability: &str) -> Result<(), String> {
        let told = |what: String| format!("{} {what}", self.path.display());
        let failed = |error: io::Error| told(format!("could not be written: {error}"));
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        // Two workers may be told the same moment; the lock goes with the file.
        let lock = File::create(folder.join("approvals.lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut table = self.read().map_err(told)?;
        let entry = table.entry(self.project.clone()).or_insert_with(|| Value::Table(Table::new()));
        let entry =
            entry.as_table_mut().ok_or_else(|| told("has an entry for this project that is not a table".to_owned()))?;
        let list = entry.entry("allow").or_insert_with(|| Value::Array(Vec::new()));
        let list = list.as_array_mut().ok_or_else(|| told("has an `allow` that is not a list".to_owned()))?;
        if !list.iter().any(|one| one.as_str() == Some(capability)) {
            list.push(Value::String(capability.to_owned()));
        }
        self.write(&table).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_for_its_project_alone() {
        let folder = tempfile::tempdir().unwrap();
        let shop = ApprovalsFile::new(folder.path(), Path::new("/src/shop.d"));
        assert_eq!(shop.allowed(), (Vec::new(), None));
        shop.keep("rye.execute.tool.rye.bash").unwrap();
        shop.keep("rye.execute.tool.rye.bash").unwrap();
        assert_eq!(shop.allowed().0, ["rye.execute.tool.rye.bash"]);
        let other = ApprovalsFile::new(folder.path(), Path::new("/src/other"));
        assert_eq!(other.allowed().0, Vec::<String>::new());
        let text = fs::read_to_string(folder.path().join("approvals.toml")).unwrap();
        assert!(text.starts_with("# What you always allow") && text.contains("[\"/src/shop.d\"]"), "{text}");
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approvals.toml");
        fs::write(&path, "[\"/p\"]\nallow = [").unwrap();
        let file = ApprovalsFile::new(folder.path(), Path::new("/p"));
        let (allowed, problem) = file.allowed();
        assert!(allowed.is_empty() && problem.unwrap().message.contains("is not TOML"));
        assert!(file.keep("x").unwrap_err().contains("is not TOML"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\"/p\"]\nallow = [");
    }
}
