// The wire for a plugin in Node, without any package: lines of JSON between homed and this process.
// docs/wire.md says what they mean.
//
//   run({ name, tools: { my_tool: async (args, ctx) => "text or JSON" }, start, stages, event, lost })
//
// ctx: { call(method, params), settings, dataDir, signal (an AbortSignal), token, thread, peer, role, … }.
// A tool that throws a ToolError has failed, and the model reads why.

"use strict";

const fs = require("node:fs");
const net = require("node:net");

const MOST = 1 << 20; // bytes of a line

class ToolError extends Error {}

class WireError extends Error {
  constructor(code, message, rpc = -32000) {
    super(message);
    this.code = code;
    this.rpc = rpc;
  }
}

// Private copies of stdin and stdout that no program started from here inherits; what prints goes to stderr, the log.
function takeWires() {
  const source = fs.openSync("/proc/self/fd/0", "r");
  const sink = fs.openSync("/proc/self/fd/1", "w");
  for (const [fd, place, how] of [[0, "/dev/null", "r"], [1, "/proc/self/fd/2", "a"]]) {
    fs.closeSync(fd);
    const got = fs.openSync(place, how); // the lowest free number: the one just closed
    if (got !== fd) throw new Error(`descriptor ${fd} became ${got}`);
  }
  return [
    new net.Socket({ fd: source, readable: true, writable: false }),
    new net.Socket({ fd: sink, readable: false, writable: true }),
  ];
}

const [source, sink] = takeWires(); // before anything else can print

class Wire {
  constructor(answer, hear) {
    this.answer = answer; // async (method, params, signal) => result
    this.hear = hear; // (method, params)
    this.pending = new Map(); // id of a call of ours → its promise's ends
    this.running = new Map(); // id of a call of homed's → its AbortController
    this.next = 1;
    this.held = [];
    this.size = 0;
    source.on("data", (data) => this.read(data));
    source.on("close", () => process.exit(0)); // homed has gone
    sink.on("error", () => process.exit(0));
  }

  read(data) {
    let from = 0;
    for (let end; (end = data.indexOf(10, from)) !== -1; from = end + 1) {
      this.take(Buffer.concat([...this.held, data.subarray(from, end)]).toString("utf8"));
      this.held = [];
      this.size = 0;
    }
    this.held.push(data.subarray(from));
    this.size += data.length - from;
    if (this.size > MOST) process.exit(70);
  }

  take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      console.error("a line that is no JSON");
      return;
    }
    if (message.method === undefined) this.settle(message);
    else if (message.id !== undefined) this.serve(message);
    else if (message.method === "$/cancel") this.running.get(message.params.id)?.abort();
    else this.hear(message.method, message.params);
  }

  send(message, then) {
    sink.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n", then);
  }

  settle({ id, result, error }) {
    const ends = this.pending.get(id);
    this.pending.delete(id);
    if (error) ends?.reject(new WireError(error.data?.code ?? "internal", error.message));
    else ends?.resolve(result);
  }

  async serve({ id, method, params }) {
    const controller = new AbortController();
    this.running.set(id, controller);
    try {
      this.send({ id, result: await this.answer(method, params, controller.signal) });
    } catch (error) {
      const known = controller.signal.aborted ? new WireError("stopped", `${method} was stopped.`) : error;
      if (!(known instanceof WireError)) console.error(error);
      const data = { code: known.code ?? "internal" };
      this.send({ id, error: { code: known.rpc ?? -32000, message: String(known.message), data } });
    } finally {
      this.running.delete(id);
    }
  }

  call(method, params = {}) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  stop() {
    for (const controller of this.running.values()) controller.abort();
    // after the answer to this very call has been written
    setImmediate(() => sink.end(() => process.exit(0)));
  }
}

// Rejects once the call is cancelled: `await Promise.race([work, cancelled(ctx.signal)])`.
function cancelled(signal) {
  return new Promise((_, reject) => {
    const stop = () => reject(new WireError("stopped", "it was stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function run({ name, tools = {}, stages = {}, start, event, lost }) {
  const own = { settings: {}, dataDir: "" };
  const context = (params, signal) => ({
    ...params.context, settings: own.settings, dataDir: own.dataDir, token: params.call, signal,
    call: (method, more = {}) => wire.call(method, more),
  });
  const answers = {
    handshake: (params) => {
      if (params.protocol !== 1 || params.name !== name)
        throw new WireError("protocol", `This is ${name}, which speaks protocol 1.`);
      return { protocol: 1, sdk: "node/0.1", pid: process.pid };
    },
    "plugin.init": (params) => {
      Object.assign(own.settings, params.config);
      own.dataDir = params.data_dir;
      return { tools: Object.keys(tools), stages: Object.keys(stages).map((stage) => ({ stage })), outputs: [], inputs: [] };
    },
    "plugin.start": async (params, signal) => {
      await start?.(context(params, signal));
      return {};
    },
    "plugin.stop": () => {
      wire.stop();
      return {};
    },
    "plugin.ping": () => ({}),
    "tool.invoke": async (params, signal) => {
      if (!Object.hasOwn(tools, params.tool)) throw new WireError("not_found", `There is no tool ${params.tool}.`);
      try {
        const content = await tools[params.tool](params.args, context(params, signal));
        return { content: content ?? "", is_error: false };
      } catch (error) {
        if (signal.aborted || error instanceof WireError) throw error;
        if (!(error instanceof ToolError)) console.error(error);
        return { content: `${error.message}`, is_error: true };
      }
    },
    "stage.invoke": async (params, signal) => {
      if (!Object.hasOwn(stages, params.stage)) throw new WireError("not_found", `There is no ${params.stage}.`);
      return { changes: (await stages[params.stage](params.fields, context(params, signal))) ?? {} };
    },
  };
  const wire = new Wire(
    async (method, params, signal) => {
      if (!Object.hasOwn(answers, method)) throw new WireError("not_found", `There is no method ${method}.`, -32601);
      return answers[method](params, signal);
    },
    (method, params) => {
      if (method === "settings.changed") own.settings[params.key] = params.value;
      else if (method === "event") event?.(params);
      else if (method === "event.lost") lost?.(params.count);
    },
  );
}

module.exports = { run, cancelled, ToolError, WireError };
