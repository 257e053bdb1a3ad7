// Thinking templates: which part of an answer is the thought. Pure.

// The opening tag may end the prompt (the template wrote it) or begin the answer. `thought` is null if the model
// was not thinking: no tag, or one that the prompt has closed already. An opening tag further up may stand in
// what somebody wrote, unless the answer closes it: then a thought was to be continued. While the closing tag is
// missing `finished` is false and the answer empty.
function splitThought(promptText, answerText) {
  const [open, close] = ['<think>', '</think>'];
  const unclosed = promptText.lastIndexOf(open) > promptText.lastIndexOf(close);
  const inside = promptText.trimEnd().endsWith(open) || (unclosed && answerText.includes(close));
  let from = 0;
  if (!inside) {
    const lead = answerText.length - answerText.trimStart().length;
    if (!answerText.startsWith(open, lead)) return { thought: null, answer: answerText, finished: true, until: 0 };
    from = lead + open.length;
  }
  const at = answerText.indexOf(close, from);
  if (at < 0) return { thought: answerText.slice(from), answer: '', finished: false, until: answerText.length };
  const until = at + close.length; // where the answer begins, in UTF-16 units
  return { thought: answerText.slice(from, at), answer: answerText.slice(until), finished: true, until };
}

function thoughtOf(run) {
  if (run.promptText === undefined && run.prompt.length) {
    run.promptText = decode(unhex(run.prompt.map((token) => token.hex).join('')));
  }
  return splitThought(run.promptText || '', run.lanes[0].plain.data);
}
