//! Threads in the order of their tree.

use super::id::ThreadId;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Something that is a thread with a place in a tree.
pub trait InTree {
    fn id(&self) -> &ThreadId;
    /// The thread that started it.
    fn parent(&self) -> Option<&ThreadId>;
}

impl<T: InTree> InTree for &T {
    fn id(&self) -> &ThreadId {
        (*self).id()
    }

    fn parent(&self) -> Option<&ThreadId> {
        (*self).parent()
    }
}

impl<T: InTree> InTree for Arc<T> {
    fn id(&self) -> &ThreadId {
        self.as_ref().id()
    }

    fn parent(&self) -> Option<&ThreadId> {
        self.as_ref().parent()
    }
}

/// `rows` with each thread behind the one that started it, and how many of those that are listed are above it. Trees come in
/// the order in which any thread of them comes first, so that one in which something happens stays where that is; children the
/// oldest first, as they were started. A thread whose parent is not listed stands as if it had none.
pub fn order<T: InTree>(rows: impl IntoIterator<Item = T>) -> Vec<(T, usize)> {
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    let parents = parents(&rows);
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children.entry(*parent).or_default().push(place);
        }
    }
    let mut tops: HashMap<usize, usize> = HashMap::new();
    let (mut first, mut listed) = (Vec::new(), HashSet::new());
    for place in 0..rows.len() {
        let (mut top, mut way) = (place, HashSet::from([place]));
        while let Some(parent) = parents.get(top).copied().flatten().filter(|parent| !way.contains(parent)) {
            if let Some(known) = tops.get(&parent) {
                top = *known;
                break;
            }
            top = parent;
            way.insert(parent);
        }
        if listed.insert(top) {
            first.push(top);
        }
        tops.extend(way.into_iter().map(|one| (one, top)));
    }
    for below in children.values_mut() {
        below.sort_by_key(|place| rows.get(*place).and_then(Option::as_ref).map(|row| row.id().begun()));
    }
    let mut ordered = Vec::with_capacity(rows.len());
    let mut open: Vec<(usize, usize)> = first.into_iter().rev().map(|place| (place, 0)).collect();
    while let Some((place, level)) = open.pop() {
        let Some(row) = rows.get_mut(place).and_then(Option::take) else { continue };
        ordered.push((row, level));
        open.extend(children.remove(&place).unwrap_or_default().into_iter().rev().map(|child| (child, level + 1)));
    }
    // What names itself an ancestor of itself is listed all the same.
    ordered.extend(rows.into_iter().flatten().map(|row| (row, 0)));
    ordered
}

/// The place of each row's parent among `rows`.
fn parents<T: InTree>(rows: &[Option<T>]) -> Vec<Option<usize>> {
    let places: HashMap<&ThreadId, usize> =
        rows.iter().enumerate().filter_map(|(place, row)| Some((row.as_ref()?.id(), place))).collect();
    let above = |row: &T| row.parent().and_then(|parent| places.get(parent)).copied();
    let parent = |(place, row): (usize, &Option<T>)| row.as_ref().and_then(above).filter(|parent| *parent != place);
    rows.iter().enumerate().map(parent).collect()
}

/// Those of `rows` that are below one of `above`, at any depth, and not of `above` themselves.
pub fn below<'a, T: InTree>(rows: &'a [T], above: &'a [ThreadId]) -> Vec<&'a T> {
    generations(rows, above).into_iter().flatten().collect()
}

/// The same, first those that are right below, then those below them, and so on: a thread that is stopped before its children
/// does not go on with what becomes of them.
pub fn generations<'a, T: InTree>(rows: &'a [T], above: &'a [ThreadId]) -> Vec<Vec<&'a T>> {
    let named: HashSet<&ThreadId> = above.iter().collect();
    let mut children: HashMap<&ThreadId, Vec<&'a T>> = HashMap::new();
    for row in rows.iter().filter(|row| !named.contains(row.id())) {
        if let Some(parent) = row.parent() {
            children.entry(parent).or_default().push(row);
        }
    }
    let mut generations = Vec::new();
    let mut open: Vec<&ThreadId> = above.iter().collect();
    loop {
        let next: Vec<&'a T> = open.iter().flat_map(|id| children.remove(*id).unwrap_or_default()).collect();
        if next.is_empty() {
            return generations;
        }
        open = next.iter().map(|row| T::id(*row)).collect();
        generations.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row(ThreadId, Option<ThreadId>);

    impl InTree for Row {
        fn id(&self) -> &ThreadId {
            &self.0
        }

        fn parent(&self) -> Option<&ThreadId> {
            self.1.as_ref()
        }
    }

    /// Ids tell a time from ten digits on.
    const BASE: u64 = 1_700_000_000_000;

    fn row(number: u64, parent: Option<u64>) -> Row {
        let id = |number| ThreadId::new("t", BASE + number);
        Row(id(number), parent.map(id))
    }

    #[test]
    fn children_stand_behind_their_parents() {
        let rows = [row(9, None), row(5, Some(2)), row(4, Some(2)), row(3, Some(4)), row(2, None), row(1, Some(77))];
        let told: Vec<(u64, usize)> = order(rows).iter().map(|(row, level)| (row.0.begun() - BASE, *level)).collect();
        assert_eq!(told, [(9, 0), (2, 0), (4, 1), (3, 2), (5, 1), (1, 0)]);
        let rows = [row(5, Some(2)), row(9, None), row(2, None)];
        let told: Vec<u64> = order(rows).iter().map(|(row, _)| row.0.begun() - BASE).collect();
        assert_eq!(told, [2, 5, 9], "a tree stands where its newest thread is");
    }

    #[test]
    fn what_is_below_a_thread_is_found_at_any_depth() {
        let rows = [row(1, None), row(2, Some(1)), row(3, Some(2)), row(4, None), row(5, Some(4))];
        let told = |above: u64| -> Vec<u64> {
            below(&rows, &[ThreadId::new("t", BASE + above)]).iter().map(|row| row.0.begun() - BASE).collect()
        };
        assert_eq!((told(1), told(2), told(3), told(4)), (vec![2, 3], vec![3], vec![], vec![5]));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_rows_say_of_themselves(parents in prop::collection::vec(prop::option::of(0_u64..12), 0..12)) {
            let rows: Vec<Row> = parents.iter().enumerate().map(|(number, parent)| row(number as u64, *parent)).collect();
            let mut ordered: Vec<Row> = order(rows.clone()).into_iter().map(|(row, _)| row).collect();
            ordered.sort_by_key(|row| row.0.begun());
            prop_assert_eq!(ordered, rows);
        }
    }
}
