// What the server tells a component, in order: Gradio sends the last message twice, and those of an older run may
// come late.

// `operations`: by name, each called with its own part and the whole message. `heard(text, message)` comes before them.
function startReceiving(operations, heard = () => {}) {
  let latest = { run: 0, n: 0 };
  return {
    receive(text) {
      if (!text) return;
      const message = JSON.parse(text);
      const late = message.run < latest.run || (message.run === latest.run && message.n <= latest.n);
      if (late) return;
      latest = { run: message.run, n: message.n };
      heard(text, message);
      for (const op of message.ops) operations[op.op](op, message);
    },
    run: () => latest.run,
    restart() { latest = { run: 0, n: 0 }; },
  };
}
