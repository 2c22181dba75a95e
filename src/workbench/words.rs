//! Commands that do something with words behind them: `/break input`, `/background stop`, `/mcp test`.

use super::message::Effect;
use super::model::Model;
use crate::commands::CommandId;
use crate::domain::Command;

/// Does something with words, or says what is wrong with them.
type Act = fn(&mut Model, &str) -> Result<Vec<Effect>, String>;

/// Those that do.
const ACTS: [(CommandId, Act); 7] = [
    (CommandId::PipelineBreak, Model::add_breakpoint),
    (CommandId::PipelineGo, Model::go_on),
    (CommandId::ThreadBackground, Model::stop_background),
    (CommandId::ThinkingChoose, Model::think),
    (CommandId::ServersShow, Model::ask_servers),
    (CommandId::ModelLogin, |_, words| match words.split_whitespace().collect::<Vec<_>>().as_slice() {
        [provider] => Ok(vec![Effect::SignIn((*provider).to_owned())]),
        _ => Err("/login NAME signs you in to a provider of an extension; /model shows which there are".to_owned()),
    }),
    (CommandId::ContextCompact, |model, words| {
        let instructions = Some(words.to_owned()).filter(|words| !words.is_empty());
        Ok(model.tell_thread(Command::Compact { instructions }))
    }),
];

impl Model {
    /// Does what a command does with words behind it; none for one that has no use for them, or does nothing now.
    pub(super) fn with_words(&mut self, command: CommandId, words: &str) -> Option<Result<Vec<Effect>, String>> {
        let (_, act) = ACTS.into_iter().find(|(known, _)| *known == command)?;
        self.obstacle(command).is_none().then(|| act(self, words))
    }
}
