//! Messages of a conversation as extensions know them, and back: with pi's names of built-in tools, and with what tools gave beside
//! the text of their results.

use super::tools_of_pi::name;
use crate::domain::{Messages, StageValue};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Gives the tools of a message, or of the messages and results in an event, pi's names.
pub(super) fn name_all(event: &mut Value) {
    event.get_mut("message").into_iter().for_each(name_tools);
    for field in ["messages", "toolResults"] {
        event.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().for_each(name_tools);
    }
}

/// Whether [`name_all`] would change something.
pub(super) fn names_any(event: &Value) -> bool {
    let lists = ["messages", "toolResults"].into_iter().filter_map(|field| event.get(field)?.as_array()).flatten();
    event.get("message").into_iter().chain(lists).any(has_names)
}

/// Gives the tools of one message pi's names.
pub(super) fn name_tools(message: &mut Value) {
    each_tool(message, |_, tool| name(tool).to_owned());
}

fn has_names(message: &Value) -> bool {
    let is_own = |tool: Option<&Value>| tool.and_then(Value::as_str).is_some_and(|tool| name(tool) != tool);
    let calls = message.get("content").and_then(Value::as_array).into_iter().flatten();
    is_own(message.get("toolName"))
        || calls.filter(|block| block["type"] == "toolCall").any(|call| is_own(call.get("name")))
}

/// Changes the names of the tools in a message: of its calls, or of the call that it is the result of.
fn each_tool(message: &mut Value, renamed: impl Fn(&str, &str) -> String) {
    let change = |object: &mut Value, id: &str, field: &str| {
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        if let (Some(id), Some(tool)) = (text(id), text(field)) {
            let tool = renamed(id, tool);
            object[field] = tool.into();
        }
    };
    change(message, "toolCallId", "toolName");
    let blocks = message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    for call in blocks.filter(|block| block["type"] == "toolCall") {
        change(call, "id", "name");
    }
}

/// A conversation, and the same as an extension was told it: a message stands at the same place in both.
#[derive(Clone, Debug, Default)]
pub(super) struct Renamed {
    own: Arc<Messages>,
    told: Arc<Messages>,
}

impl Renamed {
    /// The calls whose results among `own` no extension was told of yet.
    pub(super) fn untold(&self, own: &Arc<Messages>) -> HashSet<String> {
        if Arc::ptr_eq(own, &self.own) {
            return HashSet::new();
        }
        let known: HashSet<_> = self.own.iter().map(Arc::as_ptr).collect();
        let news = own.iter().filter(|message| !known.contains(&Arc::as_ptr(message)));
        news.filter_map(|message| Some(message.get("toolCallId")?.as_str()?.to_owned())).collect()
    }

    /// What an extension is told of `own`, with `details` of calls in their results. Messages that it was told before are the same
    /// ones again.
    pub(super) fn tell(&mut self, own: &Arc<Messages>, details: &HashMap<String, Value>) -> Arc<Messages> {
        if !Arc::ptr_eq(own, &self.own) {
            let known: HashMap<_, _> = self.own.iter().map(Arc::as_ptr).zip(self.told.iter()).collect();
            let message = |message: &Arc<Value>| {
                if let Some(told) = known.get(&Arc::as_ptr(message)) {
                    return Arc::clone(told);
                }
                let call = message.get("toolCallId").and_then(Value::as_str);
                let details = call.and_then(|call| details.get(call));
                if details.is_none() && !has_names(message) {
                    return Arc::clone(message);
                }
                let mut told = Value::clone(message);
                name_tools(&mut told);
                if let Some(details) = details {
                    told["details"] = details.clone();
                }
                Arc::new(told)
            };
            let told: Messages = own.iter().map(message).collect();
            let same = told.iter().zip(own.iter()).all(|(told, own)| Arc::ptr_eq(told, own));
            self.told = if same { Arc::clone(own) } else { Arc::new(told) };
            self.own = Arc::clone(own);
        }
        Arc::clone(&self.told)
    }

    /// What the extension made of it, with the names that it has here.
    pub(super) fn take_back(&mut self, answer: StageValue) -> StageValue {
        match answer {
            StageValue::Messages(told) => StageValue::Messages(self.own_of(&told)),
            StageValue::Json(mut answer) => {
                if answer.get("messages").is_some() {
                    let names = self.names();
                    let messages = Arc::make_mut(&mut answer).get_mut("messages").and_then(Value::as_array_mut);
                    messages.into_iter().flatten().for_each(|message| restore(message, &names));
                }
                StageValue::Json(answer)
            }
        }
    }

    fn own_of(&mut self, told: &Arc<Messages>) -> Arc<Messages> {
        if Arc::ptr_eq(told, &self.told) {
            return Arc::clone(&self.own);
        }
        let known: HashMap<_, _> = self.told.iter().map(Arc::as_ptr).zip(self.own.iter()).collect();
        let names = self.names();
        let message = |message: &Arc<Value>| {
            if let Some(own) = known.get(&Arc::as_ptr(message)) {
                return Arc::clone(own);
            }
            let mut own = Value::clone(message);
            restore(&mut own, &names);
            if own == **message { Arc::clone(message) } else { Arc::new(own) }
        };
        let own: Arc<Messages> = Arc::new(told.iter().map(message).collect());
        *self = Self { own: Arc::clone(&own), told: Arc::clone(told) };
        own
    }

    /// The tools of the calls, as they are called here.
    fn names(&self) -> HashMap<String, String> {
        let mut names = HashMap::new();
        for message in self.own.iter().filter(|message| has_names(message)) {
            let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
            let calls = blocks.filter(|block| block["type"] == "toolCall");
            let calls = calls.map(|call| (call.get("id"), call.get("name")));
            let all = calls.chain([(message.get("toolCallId"), message.get("toolName"))]);
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            names.extend(all.filter_map(|(id, tool)| Some((text(id)?, text(tool)?))));
        }
        names
    }
}

fn restore(message: &mut Value, names: &HashMap<String, String>) {
    if let Some(result) = message.as_object_mut().filter(|message| message.contains_key("toolCallId")) {
        // They are kept beside the conversation.
        result.remove("details");
    }
    each_tool(message, |id, tool| match names.get(id) {
        Some(own) if name(own) == tool => own.clone(),
        Some(_) | None => tool.to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conversation() -> Arc<Messages> {
        let messages = [
            json!({"role": "user", "content": [{"type": "text", "text": "go"}]}),
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "rye_bash", "arguments": {}},
                {"type": "toolCall", "id": "b", "name": "look", "arguments": {}}]}),
            json!({"role": "toolResult", "toolCallId": "a", "toolName": "rye_bash", "content": []}),
            json!({"role": "toolResult", "toolCallId": "b", "toolName": "look", "content": []}),
        ];
        Arc::new(messages.into_iter().map(Arc::new).collect())
    }

    #[test]
    fn a_conversation_comes_back_with_its_own_names() {
        let own = conversation();
        let mut renamed = Renamed::default();
        assert_eq!(renamed.untold(&own), ["a", "b"].map(str::to_owned).into());
        let told = renamed.tell(&own, &HashMap::new());
        assert_eq!((&told[1]["content"][0]["name"], &told[2]["toolName"]), (&json!("bash"), &json!("bash")));
        assert!(Arc::ptr_eq(&told[0], &own[0]) && Arc::ptr_eq(&told[3], &own[3]));
        assert!(Arc::ptr_eq(&renamed.tell(&own, &HashMap::new()), &told) && renamed.untold(&own).is_empty());
        // As it was told, it is the conversation itself.
        let StageValue::Messages(back) = renamed.take_back(StageValue::Messages(Arc::clone(&told))) else { panic!() };
        assert!(Arc::ptr_eq(&back, &own));
        // One message is changed, one is new and names a call that nobody knows.
        let mut changed = Messages::clone(&told);
        let mut result = Value::clone(&told[2]);
        result["content"] = json!([{"type": "text", "text": "less"}]);
        changed[2] = Arc::new(result);
        changed.push(Arc::new(json!({"role": "toolResult", "toolCallId": "z", "toolName": "bash", "content": []})));
        let StageValue::Messages(back) = renamed.take_back(StageValue::Messages(Arc::new(changed))) else { panic!() };
        assert!(Arc::ptr_eq(&back[1], &own[1]));
        assert_eq!((&back[2]["toolName"], &back[2]["content"][0]["text"]), (&json!("rye_bash"), &json!("less")));
        assert_eq!(back[4]["toolName"], "bash");
        // The next one is told what this one left.
        let again = renamed.tell(&back, &HashMap::new());
        assert_eq!((&again[2]["toolName"], &again[2]["content"][0]["text"]), (&json!("bash"), &json!("less")));
    }

    #[test]
    fn what_a_tool_gave_beside_its_text_is_told_and_stays_beside_the_conversation() {
        let own = conversation();
        let mut renamed = Renamed::default();
        let told = renamed.tell(&own, &[("b".to_owned(), json!({"n": 7}))].into());
        assert_eq!(told[3]["details"], json!({"n": 7}));
        assert!(told[2].get("details").is_none() && Arc::ptr_eq(&told[0], &own[0]));
        let StageValue::Messages(back) = renamed.take_back(StageValue::Messages(Arc::clone(&told))) else { panic!() };
        assert!(Arc::ptr_eq(&back, &own));
        let mut changed = Value::clone(&told[3]);
        changed["content"] = json!([{"type": "text", "text": "less"}]);
        for answer in
            [StageValue::Messages(Arc::new(vec![Arc::new(changed.clone())])), json!({"messages": [changed]}).into()]
        {
            let back = renamed.clone().take_back(answer);
            let message = back.json()["messages"][0].clone();
            assert_eq!((message.get("details"), &message["content"][0]["text"]), (None, &json!("less")));
        }
    }

    #[test]
    fn a_list_that_was_answered_has_its_own_names() {
        let own = conversation();
        let mut renamed = Renamed::default();
        let told: Vec<Value> =
            renamed.tell(&own, &HashMap::new()).iter().map(|message| Value::clone(message)).collect();
        let back = renamed.take_back(json!({"messages": told}).into());
        assert_eq!(back.get("messages").unwrap()[2]["toolName"], "rye_bash");
    }

    #[test]
    fn events_name_tools_as_pi_does() {
        let own = conversation();
        let mut event = json!({"message": *own[1], "toolResults": [*own[2]]});
        assert!(names_any(&event));
        name_all(&mut event);
        assert_eq!(
            (&event["message"]["content"][0]["name"], &event["toolResults"][0]["toolName"]),
            (&json!("bash"), &json!("bash"))
        );
        assert!(!names_any(&event));
    }
}
