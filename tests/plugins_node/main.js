// A plugin in plain Node: tools, cancellation, a stage handler, notices in lines.

"use strict";

const { execFileSync } = require("node:child_process");
const timers = require("node:timers/promises");
const { run, ToolError } = require("./wire.js");

const heard = { count: 0, lost: 0, last: "" };

console.log("this goes to the log and not on the wire");

run({
  name: "node_sample",
  tools: {
    node_reverse: async ({ text }) => {
      if (!text) throw new ToolError("There is nothing to reverse. Give a text.");
      return [...text].reverse().join("");
    },
    node_wait: async ({ seconds }, ctx) => {
      if (!(seconds >= 0)) throw new ToolError("How long? Give seconds.");
      await timers.setTimeout(seconds * 1000, null, { signal: ctx.signal });
      return "waited";
    },
    node_heard: async () => ({ ...heard }),
    node_child: async () => {
      // a program that inherits what it can: none of it may reach the wire
      execFileSync("sh", ["-c", "echo rubbish; ls /proc/self/fd >&2"], { stdio: "inherit" });
      return "it ran";
    },
    node_crash: async () => process.abort(),
  },
  stages: {
    on_input: async ({ raw_message }) => (raw_message.startsWith("/whisper ")
      ? { raw_message: raw_message.slice(9).toLowerCase() }
      : {}),
  },
  start: async (ctx) => {
    await ctx.call("events.subscribe", { via: "rpc" });
  },
  event: (notice) => {
    heard.count += 1;
    heard.last = notice.type;
  },
  lost: (count) => {
    heard.lost += count;
  },
});
