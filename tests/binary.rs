//! The program's file: how it is protected while it runs.

#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

use std::fs;

/// Values of the ELF format (elf(5)).
const TYPE_DYNAMIC: u64 = 3;
const SEGMENT_DYNAMIC: u64 = 2;
const SEGMENT_RELRO: u64 = 0x6474_e552;
const TAG_FLAGS: u64 = 30;
const FLAG_BIND_NOW: u64 = 8;

/// The number of `size` bytes at `at`.
fn number(bytes: &[u8], at: u64, size: usize) -> u64 {
    let at = usize::try_from(at).unwrap();
    bytes[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[test]
fn it_lies_at_a_random_place_and_its_tables_are_read_only_before_it_starts() {
    let bytes = fs::read(env!("CARGO_BIN_EXE_levain")).unwrap();
    assert_eq!(number(&bytes, 16, 2), TYPE_DYNAMIC, "position-independent");
    let (table, size, count) = (number(&bytes, 32, 8), number(&bytes, 54, 2), number(&bytes, 56, 2));
    let segments: Vec<u64> = (0..count).map(|index| table + index * size).collect();
    let of_type = |wanted: u64| segments.iter().copied().find(|at| number(&bytes, *at, 4) == wanted);
    assert!(of_type(SEGMENT_RELRO).is_some(), "tables are protected");
    let dynamic = of_type(SEGMENT_DYNAMIC).unwrap();
    let (start, length) = (number(&bytes, dynamic + 8, 8), number(&bytes, dynamic + 32, 8));
    let entries = (0..length / 16).map(|index| start + index * 16);
    let flags = entries.filter(|at| number(&bytes, *at, 8) == TAG_FLAGS).map(|at| number(&bytes, at + 8, 8));
    assert_eq!(flags.fold(0, |all, flags| all | flags) & FLAG_BIND_NOW, FLAG_BIND_NOW, "all of them");
}
