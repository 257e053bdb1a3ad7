// Agents: a program that calls the model again and again, with a prompt that grows.

const AGENT_CALLS = 20; // at most, in the picture

function callRows(calls) {
  const most = calls[calls.length - 1].tokens;
  return calls.map((call, place) => tableRow(count(place + 1), guideParts([['kept', call.kept / most], ['read', call.fresh / most]]), count(call.tokens), count(call.fresh)));
}

function makeCalls(run) {
  const body = el('div', 'guide-calls');
  const length = run.steps.length;

  function show(number) {
    const calls = agentCalls(run.given, length, length, number);
    const { anew, kept } = callSums(calls);
    const over = callTooLong(calls, length, run.context);
    body.replaceChildren(
      scrollTable('guide-loop', 'the prompt of each call', ['call', 'its prompt', 'tokens', 'new'], callRows(calls)),
      el('p', 'caption', guideKey('kept', 'was read for the call before'), guideKey('read', 'new')),
      el('h3', '', 'Tokens of prompts to read, all calls together'),
      guideOdds('each anew', 1, count(anew)), guideOdds('prefix kept', kept / anew, count(kept)),
      ...(over ? [el('p', 'caption', 'Call ' + count(over) + ' would not fit: prompt and answer would be longer than the context of ' + plural(run.context, 'token') + '.')] : []),
    );
  }

  return [guideSlider({ id: 'guide-calls', min: 1, max: AGENT_CALLS, step: 1, value: 8 }, (number) => ['Calls: ', el('b', '', count(number))], show), body];
}

const guideAgents = {
  name: 'agents', title: 'An agent is the same loop, with a program around it', nav: 'Agents',

  words: () => [
    ['A model can only write tokens. An ', el('b', '', 'agent'), ' is a program that reads them. Its prompt says which tools there are and how to ask for one; the model then writes such a ', el('b', '', 'call'), ', which is text like any other. There its turn ends. The program runs the tool, appends the result to the row, and starts the loop again.'],
    ['So each call of the model has all that came before as its prompt. If all of it is read anew every time, the tokens to read grow with the ', el('b', '', 'square'), ' of the number of calls.'],
    ['A server that keeps the keys and values reads only what is new, and many services ask less for tokens that were kept. It works as long as the ', el('b', '', 'beginning stays the same'), ', token for token.'],
  ],

  draw(run) {
    if (!run.steps.length) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    const { reused } = guidePassesOf(run).prefill;
    return [
      el('h3', '', 'If this run were the first call of an agent'),
      el('p', 'caption', 'Worked out, not measured. The first prompt has the ' + plural(run.given, 'token') + ' of this run; every call writes ' + plural(run.steps.length, 'token') + ', as this answer did, and each tool returns as many.'),
      ...makeCalls(run),
      ...(reused ? [el('p', 'caption', 'Measured: of this run’s own prompt, ', el('b', '', plural(reused, 'token')), ' had been read before and were kept.')] : []),
    ];
  },

  task: {
    words: 'On the Playground, play the program: generate a chat answer, then send one more message in the field below it. Under “Passes through the model”, the prefill then says how many tokens were known from before.',
    tab: 'playground', light: ['.reply', '#generate'], needsModel: true,
    begin: ({ run }) => run,
    done: ({ run, busy, begun }) => Boolean(run) && !busy && run !== begun && Boolean(run.said) && turnsIn(run.said) > 1 && Boolean(run.lanes[0].end),
  },

  question: {
    words: 'After ten calls the program changes one word at the start of its instructions. Which of the kept tokens are still of use?',
    choices: [
      { words: 'All of them but that word.', right: false, why: 'All that follow have looked back at it: their keys and values would be others now.' },
      { words: 'All of them: the result of a tool does not depend on it.', right: false, why: 'The text does not, but its keys and values were computed with that word in sight.' },
      { words: 'Those before that word, and no other.', right: true, why: 'A place depends on all before it and on nothing after it. So programs put what changes at the end. Change the system message of a new chat and generate: the prefill tells what was known from before.' },
    ],
  },
};
