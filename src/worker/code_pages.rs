//! Code that ran once leaves memory again.
//!
//! Starting runs through far more code than resting does, and Linux maps sixteen pages around each one that is needed: a
//! screen that has just begun has three times as much of the program in its memory as it will ever need again. A process
//! that comes to rest with much of it gives all of it back; what it needs next is mapped again from the page cache, which
//! takes a third of a millisecond for a key.

use std::time::Duration;
use tokio::sync::watch;

/// So long has a process done nothing before it gives code back.
pub const REST: Duration = Duration::from_millis(500);

/// Gives back what this process has mapped of its program's code and constants, all of which can be read again from its
/// file, if that is much; tells whether it did. Does nothing where the system is not Linux or does not tell what is mapped.
pub fn release() -> bool {
    #[cfg(target_os = "linux")]
    match linux::mapped() {
        Ok(bytes) if bytes <= linux::ENOUGH => {}
        mapped => match mapped.and_then(|_| linux::give_back()) {
            Ok(()) => return true,
            Err(error) => tracing::debug!(%error, "code stays in memory"),
        },
    }
    false
}

/// Gives code back whenever `state` has stayed the same for [`REST`] after a change. Ends with its sender.
pub(super) async fn release_at_rest<T>(mut state: watch::Receiver<T>) {
    while state.changed().await.is_ok() {
        loop {
            match tokio::time::timeout(REST, state.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_over)) => return,
                Err(_quiet) => break,
            }
        }
        release();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::mm::{Advice, madvise};
    use std::fs;
    use std::io;
    use std::ops::Range;

    /// As much of files may stay in memory, in bytes: what is left of a process that rests, and some.
    pub(super) const ENOUGH: u64 = 6_000_000;

    /// Gives back the mappings of the program's file that nobody wrote to.
    pub(super) fn give_back() -> io::Result<()> {
        let program = fs::read_link("/proc/self/exe")?;
        let told = fs::read_to_string("/proc/self/smaps")?;
        for range in clean(&told, &program.to_string_lossy()) {
            #[expect(unsafe_code, reason = "there is no safe way to ask for it")]
            // SAFETY: These pages are of a private mapping of a file, which cannot be written while it runs, and none of them
            // differs from it, as the kernel has just said. So whoever reads them next finds what was there.
            unsafe {
                madvise(std::ptr::without_provenance_mut(range.start), range.len(), Advice::LinuxDontNeed)?;
            }
        }
        Ok(())
    }

    /// How many bytes of files are in this process's memory: the third number of `statm`, which counts pages.
    pub(super) fn mapped() -> io::Result<u64> {
        let told = fs::read_to_string("/proc/self/statm")?;
        let pages = told.split(' ').nth(2).and_then(|pages| pages.parse::<u64>().ok());
        Ok(pages.unwrap_or_default() * rustix::param::page_size() as u64)
    }

    /// The mappings of `program` in a text of `smaps` that cannot be written and were not: no page of theirs is anonymous.
    /// One with relocated addresses has such pages, and one in which a debugger set a breakpoint.
    pub(super) fn clean(told: &str, program: &str) -> Vec<Range<usize>> {
        let mut clean = Vec::new();
        let mut within = None;
        for line in told.lines() {
            if let Some(heading) = heading(line) {
                within = Some(heading)
                    .filter(|(_, flags, file)| !flags.contains('w') && flags.ends_with('p') && *file == program);
            } else if let (Some((range, ..)), Some(size)) = (&within, line.strip_prefix("Anonymous:"))
                && size.split_whitespace().next() == Some("0")
            {
                clean.push(range.clone());
            }
        }
        clean
    }

    /// The line that begins a mapping: its addresses, its flags and its file.
    fn heading(line: &str) -> Option<(Range<usize>, &str, &str)> {
        let (addresses, rest) = line.split_once(' ')?;
        let (start, end) = addresses.split_once('-')?;
        let at = |text| usize::from_str_radix(text, 16).ok();
        let (flags, rest) = rest.split_once(' ')?;
        // Offset, device and inode come before the name, which may have spaces.
        let name = rest.splitn(4, ' ').nth(3)?.trim_start();
        Some((at(start)?..at(end)?, flags, name))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::clean;

    const TOLD: &str = "\
55d0c0a00000-55d0c0c00000 r--p 00000000 fe:00 1234                       /opt/a b/levain
Rss:                1728 kB
Anonymous:             0 kB
55d0c0c00000-55d0c0f00000 r-xp 00200000 fe:00 1234                       /opt/a b/levain
Anonymous:             0 kB
VmFlags: rd ex mr mw me
55d0c0f00000-55d0c1000000 r--p 00500000 fe:00 1234                       /opt/a b/levain
Anonymous:          1416 kB
55d0c1000000-55d0c1010000 rw-p 00600000 fe:00 1234                       /opt/a b/levain
Anonymous:             0 kB
7f0000000000-7f0000010000 r-xp 00000000 fe:00 99                         /usr/lib/libc.so.6
Anonymous:             0 kB
7f0000010000-7f0000020000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
";

    #[test]
    fn only_what_reads_the_same_again_is_given_back() {
        let found = clean(TOLD, "/opt/a b/levain");
        assert_eq!(found, [0x55d0_c0a0_0000..0x55d0_c0c0_0000, 0x55d0_c0c0_0000..0x55d0_c0f0_0000]);
        assert!(clean(TOLD, "/opt/levain").is_empty());
    }

    #[test]
    fn a_process_goes_on_after_its_code_was_given_back() {
        let mapped = || super::linux::mapped().unwrap();
        let before = mapped();
        super::linux::give_back().unwrap();
        let after = mapped();
        assert!(after < before, "{before} bytes, then {after}");
    }
}
