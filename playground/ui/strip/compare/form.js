// The form of a comparison: prompt, kind, dice, and what each kind asks for besides.

const KINDS = {
  lanes: 'Two to six lanes of one prompt, each with its own settings, written in one batch.',
  samples: 'The same settings with other seeds: how often the answers agree, and where they part.',
  sweep: 'One setting over a range, all else the same: where the text changes, and how open each choice was.',
};
const SWEPT = { temperature: [0, 2], top_k: [1, 100], top_p: [0.1, 1], min_p: [0, 0.5], repetition_penalty: [1, 2], presence_penalty: [0, 2], frequency_penalty: [0, 2] };

// `cards()`: those of the lanes; `on`: {kind(), ask(question), dice(), run(), stop(), add()}.
function startCompareForm(find, cards, on) {
  const base = laneParams({ temperature: 0.8, min_p: 0.05 });
  const prompt = find('#compare-prompt');
  const system = find('#compare-system');
  const setting = find('#sweep-setting');
  const chosen = (name) => find('input[name="' + name + '"]:checked').value;
  const editor = makeSettingsEditor(base, () => 'every lane', { changed() {}, seeded: () => false });
  let touched = false; // what a person typed here is not replaced by what stands in the Playground

  find('.base').append(el('span', '', 'settings of all'), editor.line, editor.panel);
  for (const name of Object.keys(SWEPT)) {
    const option = el('option', '', settingLabel(name));
    option.value = name;
    setting.append(option);
  }
  find('.questions').append(...QUESTIONS.map((question) => {
    const pill = button('pill', question.ask);
    pill.addEventListener('click', () => {
      if (!prompt.value.trim()) prompt.value = question.prompt;
      find('#same-dice').checked = question.sameDice;
      on.ask(question);
      grow();
    });
    return pill;
  }));

  function sweepRange() {
    [find('#sweep-from').value, find('#sweep-to').value] = SWEPT[setting.value];
  }

  function grow() {
    for (const area of [prompt, system]) {
      area.style.height = 'auto';
      if (area.scrollHeight) area.style.height = Math.min(area.scrollHeight + 2, 320) + 'px';
    }
  }

  function tellKind() {
    const kind = chosen('compare-kind');
    find('.what').textContent = KINDS[kind];
    find('#compare-run').textContent = kind === 'lanes' ? 'Run all' : kind === 'samples' ? 'Run samples' : 'Run sweep';
  }

  function tellMode() {
    find('.system').hidden = chosen('compare-mode') === 'raw';
  }

  function check(name, value) {
    const input = find('input[name="' + name + '"][value="' + value + '"]');
    if (input) input.checked = true;
  }

  // What stands in the Playground's form, as long as nobody typed here.
  function takeOver() {
    if (touched) return;
    const there = (selector) => document.querySelector(selector)?.value || '';
    if (!there('#prompt textarea')) return;
    prompt.value = there('#prompt textarea');
    system.value = there('#system textarea');
    find('.system').open = Boolean(system.value);
    check('compare-mode', there('#mode input:checked') || 'chat');
    tellMode();
    grow();
  }

  for (const area of [prompt, system]) {
    area.addEventListener('input', () => { touched = true; grow(); });
    area.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      on.run();
    });
  }
  find('.kinds').addEventListener('change', () => {
    tellKind();
    on.kind();
  });
  find('.modes').addEventListener('change', () => { touched = true; tellMode(); });
  find('#same-dice').addEventListener('change', on.dice);
  setting.addEventListener('change', sweepRange);
  find('#compare-run').addEventListener('click', on.run);
  find('#compare-stop').addEventListener('click', on.stop);
  find('#add-lane').addEventListener('click', on.add);
  new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) takeOver(); }).observe(prompt);
  sweepRange();
  takeOver();
  tellKind();

  const whole = (selector) => (find(selector).value === '' ? null : Number(find(selector).value));
  return {
    base,
    kind: () => chosen('compare-kind'),
    setKind(kind) {
      check('compare-kind', kind);
      tellKind();
      on.kind();
    },
    sameDice: () => find('#same-dice').checked,
    // What an opened file, or a link, was made of, as far as it says.
    set({ prompt: text, system: before, mode, same_dice: same, exact, params, sweep, seed, tokens, samples, thinking }) {
      touched = true;
      if (text != null) prompt.value = text;
      if (before != null) system.value = before;
      if (mode) check('compare-mode', mode);
      if (same != null) find('#same-dice').checked = same;
      if (exact != null) find('#exact').checked = exact;
      if (seed != null) find('#compare-seed').value = seed;
      if (tokens != null) find('#compare-tokens').value = tokens;
      if (samples != null) find('#compare-samples').value = samples;
      if (thinking != null) find('.thinking').checked = thinking;
      if (params) Object.assign(base, laneParams(params), { seed: '' });
      if (sweep && sweep.setting in SWEPT) {
        setting.value = sweep.setting;
        find('#sweep-from').value = sweep.values[0];
        find('#sweep-to').value = sweep.values[sweep.values.length - 1];
        find('#sweep-steps').value = sweep.steps || sweep.values.length;
      }
      find('.system').open = Boolean(system.value);
      editor.say();
      tellMode();
      grow();
    },
    // The request of a run, as the server reads it.
    read() {
      const kind = chosen('compare-kind');
      const lanes = kind === 'lanes' ? cards().map(({ name, params }) => ({ name, params: requestParams(params, !find('#same-dice').checked) }))
        : [{ name: kind === 'samples' ? 'sample' : settingLabel(setting.value), params: requestParams(base, false) }];
      const request = {
        kind, mode: chosen('compare-mode'), system: system.value, prompt: prompt.value, lanes,
        same_dice: kind === 'sweep' || (kind === 'lanes' && find('#same-dice').checked), exact: find('#exact').checked,
        seed: find('#compare-seed').value.trim(), max_tokens: whole('#compare-tokens'),
      };
      if (document.documentElement.dataset.thinking === 'yes') request.thinking = find('.thinking').checked;
      if (kind === 'samples') request.samples = whole('#compare-samples');
      if (kind === 'sweep') {
        request.sweep = {
          setting: setting.value, from: whole('#sweep-from'), to: whole('#sweep-to'), steps: whole('#sweep-steps'), tokens: request.max_tokens,
        };
      }
      return request;
    },
  };
}

// The settings of a lane as a request has them: a seed only where the lane rolls its own dice.
function requestParams(params, seeded) {
  const { seed, ...others } = params;
  return seeded && seed ? { ...others, seed } : others;
}
