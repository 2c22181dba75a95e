// createLocalBashOperations: commands on this machine, through the host's processes.

import { spawn } from "../node/child_process.js";

export const getShellConfig = () => ({ shell: "/bin/bash", args: ["-c"] });

export const createLocalBashOperations = () => ({
  exec(command, cwd, { onData, signal, timeout, env } = {}) {
    return new Promise((resolve, reject) => {
      const { shell, args } = getShellConfig();
      const child = spawn(shell, [...args, command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      let timedOut = false;
      const timer = timeout ? setTimeout(() => {
        timedOut = true;
        child.kill("SIGKILL");
      }, timeout * 1000) : undefined;
      const stop = () => child.kill("SIGKILL");
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
      child.stdout.on("data", (data) => onData?.(data));
      child.stderr.on("data", (data) => onData?.(data));
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      };
      child.on("error", (error) => {
        end();
        reject(error);
      });
      child.on("close", (code) => {
        end();
        if (signal?.aborted) reject(new Error("aborted"));
        else if (timedOut) reject(new Error(`timeout:${timeout}`));
        else resolve({ exitCode: code });
      });
    });
  },
});
