//! The sandbox of Linux: Landlock for files, TCP and signals; a seccomp filter for what Landlock does not know (datagrams,
//! sockets that are files, `io_uring`, keys of the kernel); and, where the system allows it, mounts of the command's own,
//! by which a folder can be written while something in it cannot.
//!
//! Landlock grants what lies below a folder and takes nothing back, so a folder that holds something guarded is granted
//! entry by entry. Then nothing new can be made directly in it. With mounts it can, and Landlock keeps them as they are:
//! no confined process mounts anything.

use super::placeholder::{Placeholders, stays_missing};
use super::{Confinement, Offered, git};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_bind, mount_change,
    mount_remount, move_mount, open_tree, unmount,
};
use rustix::thread::UnshareFlags;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What is asked of the kernel, all of it: files (devices included), TCP, signals and abstract sockets. Linux 6.12.
const ABI_NEEDED: ABI = ABI::V6;

/// Devices that commands open. Nothing else below `/dev` is read or written: terminals of the person are there, and disks.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The terminal of whoever opens it.
const OWN_TERMINAL: &str = "/dev/tty";

/// Where pseudo-terminals are made, and where they are then. Granted only where they are the command's own.
const PSEUDO_TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// What is made for a command and goes with it.
#[derive(Debug)]
pub(in crate::tools) struct Held {
    /// Nothing where what is guarded and hidden is not so by mounts.
    places: Option<Places>,
    /// It has pseudo-terminals of its own, and sees none of anybody else.
    terminals: bool,
    /// What could not be taken away again before it was started, in words.
    left: Vec<String>,
}

/// What is guarded and hidden by mounts.
#[derive(Debug)]
struct Places {
    placeholders: Placeholders,
    /// Where something is mounted, in order.
    mounts: Vec<PathBuf>,
}

pub(super) fn offered() -> Offered {
    let found = "Landlock (files, TCP ports, signals) and seccomp".to_owned();
    let mut offered = Offered { found, ..Offered::default() };
    let parts = [
        (knows_files(), "Landlock: this kernel has none that knows devices (Linux 6.10), or it is switched off"),
        (knows_ports(), "Landlock for TCP ports (Linux 6.7)"),
        (knows_signals(), "Landlock for signals and abstract sockets (Linux 6.12)"),
    ];
    offered.missing.extend(parts.into_iter().filter(|(is_there, _)| !is_there).map(|(_, what)| what.to_owned()));
    if TargetArch::try_from(std::env::consts::ARCH).is_err() {
        offered.missing.push(format!("a seccomp filter for {}", std::env::consts::ARCH));
    }
    if !may_mount() {
        offered.remarks.push(
            "no user namespaces: confined commands make no new files directly in the project's folder".to_owned(),
        );
    }
    offered
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn knows_files() -> bool {
    strict().handle_access(AccessFs::from_all(ABI_NEEDED)).and_then(Ruleset::create).is_ok()
}

fn knows_ports() -> bool {
    strict().handle_access(AccessNet::from_all(ABI_NEEDED)).and_then(Ruleset::create).is_ok()
}

fn knows_signals() -> bool {
    strict().scope(Scope::from_all(ABI_NEEDED)).and_then(Ruleset::create).is_ok()
}

/// Whether mounts of one's own look possible; [`hold`] tells for sure.
fn may_mount() -> bool {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    rustix::process::geteuid().is_root()
        || (number("/proc/sys/user/max_user_namespaces") != Some(0)
            && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
            && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").unwrap_or(0) == 0)
}

pub(super) fn hold(confinement: &Confinement, empty: &Path) -> Held {
    let mut left = Vec::new();
    let places = set_apart().and_then(|()| Places::make(confinement, empty, &mut left));
    let places = places.inspect_err(|error| tracing::debug!(%error, "no mounts of its own")).ok();
    let terminals = places.is_some()
        && mount_terminals().inspect_err(|error| tracing::debug!(%error, "no terminals of its own")).is_ok();
    Held { places, terminals, left }
}

impl Held {
    /// Takes away what was made, with everything mounted over it: in this process that keeps it from being taken away.
    /// Answers what is left, in words.
    pub(in crate::tools) fn clear(self) -> Vec<String> {
        let cleared = self.places.map(Places::clear).unwrap_or_default();
        [self.left, cleared].concat()
    }
}

/// Mounts terminals of the command's own over those of everybody.
fn mount_terminals() -> std::io::Result<()> {
    let [maker, folder] = PSEUDO_TERMINALS;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount("devpts", folder, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")?;
    Ok(mount_bind(Path::new(folder).join("ptmx"), maker)?)
}

/// Gives this process mounts of its own.
fn set_apart() -> std::io::Result<()> {
    let root = rustix::process::geteuid().is_root();
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let flags = if root { UnshareFlags::NEWNS } else { UnshareFlags::NEWNS | UnshareFlags::NEWUSER };
    #[expect(deprecated, reason = "its successor is unsafe because of FILES, which is not asked for")]
    rustix::thread::unshare(flags)?;
    if !root {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    Ok(mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?)
}

impl Places {
    fn make(confinement: &Confinement, empty: &Path, left: &mut Vec<String>) -> std::io::Result<Self> {
        let within = |path: &Path| confinement.write.iter().any(|folder| path.starts_with(folder));
        let guarded: Vec<&Path> =
            confinement.guarded.iter().map(PathBuf::as_path).filter(|path| within(path)).collect();
        let commondirs = guarded.iter().filter(|path| path.ends_with("commondir") && path.symlink_metadata().is_err());
        if commondirs.filter_map(|path| path.parent()).any(git::heeds_commondir) {
            return Err(std::io::Error::other("a commondir would change what the repository's settings mean"));
        }
        let placeholders = Placeholders::make(guarded.iter().copied())?;
        let mut made = Self { placeholders, mounts: Vec::new() };
        if let Err(error) = made.mount(&guarded, confinement, empty) {
            left.extend(made.clear());
            return Err(error);
        }
        Ok(made)
    }

    fn mount(&mut self, guarded: &[&Path], confinement: &Confinement, empty: &Path) -> std::io::Result<()> {
        // A folder that holds something guarded could be put aside and made again: what is mounted cannot be.
        let is_below = |folder: &&Path| confinement.write.iter().any(|top| *folder != top && folder.starts_with(top));
        let holders = guarded.iter().flat_map(|path| path.ancestors().skip(1)).filter(is_below);
        for folder in holders.collect::<BTreeSet<_>>().into_iter().filter(|folder| folder.is_dir()) {
            self.bind(folder, folder)?;
        }
        for path in guarded.iter().filter(|path| !stays_missing(path)) {
            if path.is_symlink() {
                self.pin(path)?;
            } else {
                self.bind(path, path)?;
                read_only(path)?;
            }
        }
        let nothing = empty.join("nothing");
        fs::create_dir_all(&nothing)?;
        for path in &confinement.hidden {
            self.bind(if path.is_dir() { &nothing } else { Path::new("/dev/null") }, path)?;
            read_only(path)?;
        }
        Ok(())
    }

    fn bind(&mut self, what: &Path, over: &Path) -> std::io::Result<()> {
        mount_bind(what, over)?;
        self.mounts.push(over.to_owned());
        Ok(())
    }

    /// Keeps a link in its place. What it names is guarded by itself.
    fn pin(&mut self, link: &Path) -> std::io::Result<()> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = open_tree(CWD, link, flags | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?;
        move_mount(tree, "", CWD, link, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        self.mounts.push(link.to_owned());
        Ok(())
    }

    fn clear(self) -> Vec<String> {
        let mut left = Vec::new();
        // What is mounted below another mount goes with that.
        let is_below = |path: &Path| self.mounts.iter().any(|other| other != path && path.starts_with(other));
        for path in self.mounts.iter().rev().filter(|path| !is_below(path)) {
            if let Err(error) = unmount(path.as_path(), UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
                left.push(format!("the mount at {} is left: {error}", path.display()));
            }
        }
        left.extend(self.placeholders.clear());
        left
    }
}

/// Makes the mount at `path` one that cannot be written. What the mount below it forbids stays forbidden, or the kernel
/// refuses.
fn read_only(path: &Path) -> std::io::Result<()> {
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    let now = rustix::fs::statvfs(path)?.f_flag;
    for (there, keep) in [
        (rustix::fs::StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (rustix::fs::StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (rustix::fs::StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (rustix::fs::StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (rustix::fs::StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (rustix::fs::StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(there) {
            flags |= keep;
        }
    }
    Ok(mount_remount(path, flags, "")?)
}

pub(super) fn enforce(confinement: &Confinement, own: &Path, held: &Held) -> Result<(), String> {
    let status = files(confinement, own, held).map_err(|error| format!("Landlock: {error}"))?;
    if status != RulesetStatus::FullyEnforced {
        return Err("Landlock: the kernel does not enforce all of it".to_owned());
    }
    for filter in filters(confinement).map_err(|error| format!("seccomp: {error}"))? {
        apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

type Failed = Box<dyn std::error::Error>;

fn files(confinement: &Confinement, own: &Path, held: &Held) -> Result<RulesetStatus, Failed> {
    let read = AccessFs::from_read(ABI_NEEDED);
    let devices = AccessFs::MakeBlock | AccessFs::MakeChar;
    let all = AccessFs::from_all(ABI_NEEDED) & !devices;
    let mut rules = strict()
        .handle_access(AccessFs::from_all(ABI_NEEDED))?
        .handle_access(AccessNet::from_all(ABI_NEEDED))?
        .scope(Scope::from_all(ABI_NEEDED))?
        .create()?;
    let nothing: &[PathBuf] = &[];
    // Who may write below a folder reads below it, so what is hidden is left out there, too.
    let kept = [confinement.guarded.as_slice(), confinement.hidden.as_slice()].concat();
    let (hidden, mut kept) =
        if held.places.is_some() { (nothing, Vec::new()) } else { (confinement.hidden.as_slice(), kept) };
    if !held.terminals {
        kept.extend(PSEUDO_TERMINALS.map(PathBuf::from));
    }
    let unread = [hidden, &[PathBuf::from("/dev")]].concat();
    rules = grant(rules, Path::new("/"), read, &unread)?;
    if held.places.is_some() {
        // What is hidden has mounts over it, so everything may be listed.
        rules = grant(rules, Path::new("/"), AccessFs::ReadDir.into(), nothing)?;
    }
    rules = grant(rules, Path::new("/dev/shm"), read, hidden)?;
    for folder in &confinement.write {
        rules = grant(rules, folder, all, &kept)?;
    }
    rules = grant(rules, own, all, nothing)?;
    for device in opened_by_commands(held) {
        let write = read | AccessFs::WriteFile | AccessFs::IoctlDev;
        rules = grant(rules, Path::new(device), write, nothing)?;
    }
    for port in &confinement.ports {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

fn opened_by_commands(held: &Held) -> Vec<&'static str> {
    let mut devices = DEVICES.to_vec();
    // A terminal that this process has is the person's. Without one a command opens only what it made itself.
    if fs::File::open(OWN_TERMINAL).is_err() {
        devices.push(OWN_TERMINAL);
    }
    if held.terminals {
        devices.extend(PSEUDO_TERMINALS);
    }
    devices
}

/// Grants `access` to what lies below `path`, but for what is in `except`. Links are followed by whoever uses them and
/// grant nothing by themselves; what cannot be opened is not granted.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    except: &[PathBuf],
) -> Result<RulesetCreated, Failed> {
    if except.iter().any(|other| other == path) {
        return Ok(rules);
    }
    if !except.iter().any(|other| other.starts_with(path)) {
        let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
        let fits = if path.is_dir() { access } else { access & AccessFs::from_file(ABI_NEEDED) };
        return Ok(rules.add_rule(PathBeneath::new(opened, fits))?);
    }
    let mut rules = rules;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            rules = grant(rules, &entry.path(), access, except)?;
        }
    }
    Ok(rules)
}

/// The bit by which calls of the third ABI of `x86_64` are told from those of the first.
const X32: i64 = 0x4000_0000;

fn filters(confinement: &Confinement) -> Result<[BpfProgram; 2], Failed> {
    let is = |argument: u8, operator: SeccompCmpOp, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let kind = |value: i32| is(1, SeccompCmpOp::MaskedEq(0xf), value);
    let mut sockets = Vec::new();
    let inet = [libc::AF_INET, libc::AF_INET6];
    // Names are asked for by datagrams, and the kernel tells of addresses by netlink.
    let mut strange = vec![is(0, SeccompCmpOp::Ne, libc::AF_NETLINK)?];
    if !confinement.ports.is_empty() {
        for family in inet {
            strange.push(is(0, SeccompCmpOp::Ne, family)?);
        }
        for family in inet {
            let this = || is(0, SeccompCmpOp::Eq, family);
            for other in [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
                sockets.push(SeccompRule::new(vec![this()?, kind(other)?])?);
            }
            // Streams of other protocols are not what the granted ports are of.
            let (any, tcp) = (is(2, SeccompCmpOp::Ne, 0)?, is(2, SeccompCmpOp::Ne, libc::IPPROTO_TCP)?);
            sockets.push(SeccompRule::new(vec![this()?, kind(libc::SOCK_STREAM)?, any, tcp])?);
        }
    }
    sockets.push(SeccompRule::new(strange)?);
    let fast_open = |argument| -> Result<Vec<SeccompRule>, Failed> {
        let flag = libc::MSG_FASTOPEN;
        let mask = SeccompCmpOp::MaskedEq(u64::from(flag.cast_unsigned()));
        Ok(vec![SeccompRule::new(vec![is(argument, mask, flag)?])?])
    };
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    refused.insert(libc::SYS_socket, sockets);
    refused.insert(libc::SYS_sendto, fast_open(3)?);
    refused.insert(libc::SYS_sendmsg, fast_open(2)?);
    refused.insert(libc::SYS_sendmmsg, fast_open(3)?);
    for call in [
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_open_by_handle_at,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_acct,
    ] {
        refused.insert(call, Vec::new());
    }
    let rings = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let absent = rings.into_iter().map(|call| (call, Vec::new())).collect();
    let refuse = |mut calls: BTreeMap<i64, Vec<SeccompRule>>, number: i32| -> Result<BpfProgram, Failed> {
        if cfg!(target_arch = "x86_64") {
            let again: Vec<_> = calls.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
            calls.extend(again);
        }
        let action = SeccompAction::Errno(number.cast_unsigned());
        let arch = std::env::consts::ARCH.try_into()?;
        Ok(SeccompFilter::new(calls, SeccompAction::Allow, action, arch)?.try_into()?)
    };
    // Programs do without rings where the kernel has none.
    Ok([refuse(refused, libc::EACCES)?, refuse(absent, libc::ENOSYS)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_can_be_made_with_and_without_network() {
        for ports in [vec![], vec![80, 443]] {
            let made = filters(&Confinement { ports, ..Confinement::default() }).unwrap();
            assert!(made.iter().all(|filter| !filter.is_empty()));
        }
    }
}
