//! How much a thread wrote lately: tokens of its newest answers, for a line of bars in a list.

use super::amount::Tokens;
use serde::{Deserialize, Serialize};

/// Tokens of the newest answers, the oldest of them first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
pub struct Outputs {
    tokens: [u32; Self::MOST],
    count: u8,
}

impl Outputs {
    /// As many answers are remembered.
    pub const MOST: usize = 8;

    /// Takes in an answer, in the place of the oldest where there is no room.
    pub fn push(&mut self, output: Tokens) {
        let (place, tokens) = (usize::from(self.count), u32::try_from(output.0).unwrap_or(u32::MAX));
        if place == Self::MOST {
            self.tokens.rotate_left(1);
        } else {
            self.count += 1;
        }
        if let Some(free) = self.tokens.get_mut(place.min(Self::MOST - 1)) {
            *free = tokens;
        }
    }

    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        self.tokens.get(..usize::from(self.count)).unwrap_or_default()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A bar for each answer, the longest of them at full height.
    #[must_use]
    pub fn bars(&self) -> String {
        const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let most = u64::from(self.tokens().iter().copied().max().unwrap_or(0)).max(1);
        let last = BARS.len() as u64 - 1;
        let bar = |tokens: &u32| (u64::from(*tokens) * last).div_ceil(most).min(last);
        self.tokens().iter().filter_map(|tokens| BARS.get(usize::try_from(bar(tokens)).ok()?)).copied().collect()
    }

    /// As numbers with blanks between, for a column of a table.
    #[must_use]
    pub fn words(&self) -> String {
        self.tokens().iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }

    /// What [`Self::words`] wrote; what is no number is passed over.
    #[must_use]
    pub fn from_words(words: &str) -> Self {
        words.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u32>>().into()
    }
}

impl From<Vec<u32>> for Outputs {
    fn from(tokens: Vec<u32>) -> Self {
        let mut outputs = Self::default();
        for tokens in tokens {
            outputs.push(Tokens(u64::from(tokens)));
        }
        outputs
    }
}

impl From<Outputs> for Vec<u32> {
    fn from(outputs: Outputs) -> Self {
        outputs.tokens().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_answers_are_bars_beside_the_longest() {
        let mut outputs = Outputs::default();
        assert_eq!((outputs.bars(), outputs.words()), (String::new(), String::new()));
        (1..=10).for_each(|tokens| outputs.push(Tokens(tokens * 10)));
        assert_eq!(outputs.tokens(), [30, 40, 50, 60, 70, 80, 90, 100]);
        assert_eq!(outputs.bars(), "▄▄▅▆▆▇██");
        assert_eq!(Outputs::from_words(&outputs.words()), outputs);
        // An answer without a word is there all the same.
        assert_eq!(Outputs::from(vec![0, 500, 1]).bars(), "▁█▂");
        assert_eq!(Outputs::from(vec![0]).bars(), "▁");
    }
}
