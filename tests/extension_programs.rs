//! Programs that extensions talk with while they run (`child_process.spawn`).

use crate::support::scripted_project::{Project, done};

/// What a handler makes of a prompt with the help of programs.
fn made(body: &str) -> String {
    let extension = format!(
        r#"import {{ spawn, exec }} from "node:child_process";
const ended = (child: any) => new Promise((resolve) => child.on("close", (code: any, signal: any) => resolve(`${{code}} ${{signal}}`)));
export default (pi: any) => {{
  pi.on("input", async () => {{ {body} }});
}};"#
    );
    let project = Project::extended(&extension, &[done()]);
    let id = project.run("go");
    project.event(&id, "cognition_in")["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_is_heard_while_it_runs_and_reads_what_is_written_to_it() {
    let body = r#"
    const child = spawn("sh", ["-c", "echo ready; read a; echo got $a; read b || echo closed; echo aside >&2; exit 3"]);
    const told: string[] = [];
    child.stderr.on("data", (data: any) => told.push("error " + data));
    child.stdout.on("data", (data: any) => {
      told.push(String(data));
      if (String(data).includes("ready")) child.stdin.write("word\n");
      if (String(data).includes("got")) child.stdin.end();
    });
    const end = await ended(child);
    return { action: "transform", text: told.sort().map((line) => line.trim()).join("|") + "|" + end };"#;
    assert_eq!(made(body), "closed|error aside|got word|ready|3 null");
}

#[test]
fn a_program_is_ended_by_the_signal_that_is_named() {
    let body = r#"
    const ends: string[] = [];
    for (const [signal, stdio] of [["SIGTERM", "pipe"], ["SIGINT", "pipe"], ["SIGKILL", "pipe"], ["SIGKILL", "ignore"], [9, "pipe"]] as any) {
      const child = spawn("sh", ["-c", "echo up; exec sleep 4322"], { stdio: [stdio, "pipe", "pipe"] });
      await new Promise((resolve) => child.stdout.once("data", resolve));
      const sent = child.kill(signal);
      ends.push(`${sent} ${await ended(child)} ${child.kill()}`);
    }
    const late = spawn("sleep", ["4323"], { timeout: 50, killSignal: "SIGKILL" });
    ends.push(await ended(late) as string);
    return { action: "transform", text: ends.join("|") };"#;
    let killed = "true null SIGKILL false";
    let expected = format!("true null SIGTERM false|true null SIGINT false|{killed}|{killed}|{killed}|null SIGKILL");
    assert_eq!(made(body), expected);
}

#[test]
fn a_flood_of_output_is_read_to_its_end_and_bytes_stay_as_they_are() {
    let body = r#"
    const child = spawn("sh", ["-c", "head -c 30000000 /dev/zero; printf '\\377\\376'"], { stdio: ["ignore", "pipe", "pipe"] });
    let count = 0, last: any;
    child.stdout.on("data", (data: any) => { count += data.length; last = data; });
    const end = await ended(child);
    const unread = spawn("sh", ["-c", "head -c 30000000 /dev/zero; exit 2"]);
    const left = await ended(unread);
    const large = await new Promise((resolve) => exec("head -c 3000000 /dev/zero", (error: any) => resolve(error?.code)));
    return { action: "transform", text: `${count} ${last.at(-2)} ${last.at(-1)} ${end}, ${left}, ${large}` };"#;
    assert_eq!(made(body), "30000002 255 254 0 null, 2 null, ERR_CHILD_PROCESS_STDIO_MAXBUFFER");
}
