//! Which directives of a project the person has trusted to allow something.
//!
//! Directives are written and changed all day, and their words run nothing. What they grant does: so trusting a project
//! remembers for each of its directives what it grants, what it extends and which hooks it brings, and a directive for
//! which that is different, or that is new, has everything it allows asked for until the person looked again. Only what
//! decides is compared: a change of its words costs nothing.

use super::trust;
use super::{Dirs, Trust};
use crate::domain::Space;
use crate::items::{Directive, Items, Kind, Spaces};
use std::collections::BTreeMap;
use std::path::Path;

/// What each directive decides, as a hash, by its path below the project.
pub type Authorities = BTreeMap<String, String>;

/// Whether what some directives of a project allow counts as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    Given,
    /// The person never trusted the project.
    Never,
    /// They did, and this directive allowed something else then, or was not there.
    Changed(String),
}

/// What every directive of the project at `root` decides, those included that another file hides.
#[must_use]
pub fn of_project(root: &Path) -> Authorities {
    let items = Items::list_kinds(&Spaces::new(root, root, []), &[Kind::Directive]);
    let all = items.iter().flat_map(|found| std::iter::once(found.item).chain(found.shadows));
    let own = all.filter(|item| items.space(item) == Space::Project);
    own.filter_map(|item| {
        // What does not read now starts no thread now.
        let text = items.look(item).ok()?;
        let (directive, _told_elsewhere) = Directive::parse(&text, &items.file(item));
        Some((item.path.clone(), directive.authority()))
    })
    .collect()
}

impl Trust {
    /// Whether the person trusted the project at `root` with what `directives` decide, as they are now.
    #[must_use]
    pub fn authority(dirs: &Dirs, root: &Path, directives: &Authorities) -> Authority {
        let Some(trusted) = trust::directives(dirs, root) else { return Authority::Never };
        let changed = directives.iter().find(|(path, now)| trusted.get(*path) != Some(*now));
        changed.map_or(Authority::Given, |(path, _)| Authority::Changed(path.clone()))
    }

    /// Which of `directives` have everything that they allow asked for, because nobody trusted them as they are now.
    #[must_use]
    pub fn asked(dirs: &Dirs, root: &Path, directives: &Authorities) -> Vec<String> {
        let trusted = trust::directives(dirs, root).unwrap_or_default();
        let asked = directives.iter().filter(|(path, now)| trusted.get(*path) != Some(*now));
        asked.map(|(path, _)| path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::trust::Runnable;
    use std::fs;

    fn directive(permissions: &str, body: &str) -> String {
        format!(
            "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata>{permissions}</metadata></directive>\n```\n{body}\n"
        )
    }

    #[test]
    fn s05_a_grant_that_grew_is_asked_for_again_and_words_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (dirs, root) = (Dirs::below(folder.path()), folder.path().join("project"));
        fs::create_dir_all(root.join(".ai/directives/team")).unwrap();
        let write = |name: &str, permissions: &str, body: &str| {
            fs::write(root.join(format!(".ai/directives/team/{name}.md")), directive(permissions, body)).unwrap();
        };
        let read = "<permissions><execute><tool>rye/file-system/read</tool></execute></permissions>";
        write("a", read, "Read.");
        write("b", "<permissions>*</permissions>", "All.");
        let judged = || Trust::authority(&dirs, &root, &of_project(&root));
        assert_eq!(judged(), Authority::Never);
        Trust::grant(&dirs, &root, &Runnable::nothing(), &of_project(&root)).unwrap();
        assert_eq!(judged(), Authority::Given);
        write("a", read, "Read it all, twice.");
        assert_eq!(judged(), Authority::Given);
        let path = ".ai/directives/team/a.md".to_owned();
        for grown in [
            "<permissions>*</permissions>",
            "<permissions><execute><tool>rye/file-system/read</tool><tool>rye/bash</tool></execute></permissions>",
            "",
        ] {
            write("a", grown, "Read.");
            assert_eq!(judged(), Authority::Changed(path.clone()), "{grown}");
        }
        let path_of_a = root.join(".ai/directives/team/a.md");
        fs::write(&path_of_a, directive(read, "Read.").replace("name=", "extends=\"team/b\" name=")).unwrap();
        assert_eq!(judged(), Authority::Changed(path));
        write("a", read, "Read.");
        assert_eq!(judged(), Authority::Given);
        write("new", read, "New.");
        assert_eq!(judged(), Authority::Changed(".ai/directives/team/new.md".to_owned()));
        Trust::grant(&dirs, &root, &Runnable::nothing(), &of_project(&root)).unwrap();
        assert_eq!(judged(), Authority::Given);
    }
}
