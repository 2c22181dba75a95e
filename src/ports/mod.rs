//! The traits that wait: what the driver asks of the outside world. Each has a real form and one for tests.

pub mod approvals;
pub mod beneath;
pub mod child;
pub mod clock;
pub mod executor;
pub mod faults;
pub mod handlers;
pub mod ledger;
pub mod private_file;
pub mod process;
pub mod provider;
pub mod store;
pub mod thread_access;
pub mod threads;
pub mod tls;
pub mod tools;

pub use approvals::{Approvals, Forgetful};
pub use beneath::Beneath;
pub use clock::{Clock, SystemClock};
pub use executor::{Executor, ExecutorError, ThreadSpec};
pub use handlers::{Expansion, Handler, HandlerCall, HandlerReply, Handlers, NoHandlers, NotExpanded};
pub use ledger::{Ledger, LedgerError};
pub use provider::{
    CallRequest, Counting, EncodedRequest, HttpOptions, Provider, ProviderEvent, ProviderStream, ResponseHead,
    ResponseWatch,
};
pub use store::{StoreError, ThreadStore};
pub use thread_access::{ModelAnswer, ModelCall, ThreadAccess, Within};
pub use tools::{KeptResults, ToolListener, ToolOutcome, ToolRunner};
