// The dice on the cumulative bar. It can be rolled by hand: any u shows the token it would have picked.

// Whether another roll could have picked another token.
function diceOpen(step) {
  return step.draw.method !== 'greedy' && step.draw.high - step.draw.low < 1;
}

// `roll` asks the server which token a u picks and answers with its stretch; `offer(stretch)` makes the
// button that goes on with that token, or nothing for the token of the run.
function makeDice(step, vocabulary, roll, offer) {
  const known = [];
  const dice = el('div', 'dice');
  const track = el('div', 'stretches');
  const label = el('span');
  const mark = el('div', 'roll', label);
  const outcome = el('div', 'outcome');
  const open = diceOpen(step);
  const listed = () => diceStretches(step, known).filter((stretch) => stretch.id !== null).length;
  let u = step.draw.u;

  function drawBar() {
    track.replaceChildren(...diceStretches(step, known).map((stretch) => {
      const width = stretch.high - stretch.low;
      const fits = stretch.id !== null && width * 350 > 8 + 7.1 * stretch.text.length;
      const part = el('span', stretch.id === null ? 'rest' : '', fits ? tokenName(stretch.text) : '');
      if (stretch.id === step.id) part.classList.add('hit');
      part.style.left = stretch.low * 100 + '%';
      part.style.width = width * 100 + '%';
      return part;
    }));
  }

  function place() {
    const at = u === null ? 0.5 : u;
    mark.style.left = at * 100 + '%';
    mark.dataset.side = at < 0.12 ? 'start' : at > 0.88 ? 'end' : '';
    mark.classList.toggle('moved', u !== step.draw.u);
    label.textContent = u === null ? 'not rolled' : 'u = ' + rollText(u);
    if (open) mark.setAttribute('aria-valuenow', rollText(at));
  }

  function say(settled) {
    const stretch = stretchAt(diceStretches(step, known), u);
    for (const part of track.children) part.classList.remove('aim');
    track.children[[...diceStretches(step, known)].findIndex((other) => other.low === stretch.low)]?.classList.add('aim');
    const others = Math.max(1, leftOf(step, vocabulary) - listed());
    const name = stretch.id === null ? 'one of ' + count(others) + ' others' : stretch.text;
    const width = stretch.id === null ? [] : [', a stretch of ', el('b', '', percent(stretch.high - stretch.low)), ' of the bar'];
    const back = el('button', 'quiet', 'put it back');
    back.type = 'button';
    back.addEventListener('click', () => { move(step.draw.u, false); outcome.replaceChildren(); mark.focus(); });
    outcome.replaceChildren(
      el('p', '', 'u = ' + rollText(u) + ' picks ', stretch.id === null ? el('b', '', name) : tokenName(name), ...width, '.'),
      el('p', 'buttons', settled && stretch.id !== null ? offer(stretch) : null, u === step.draw.u ? null : back));
    mark.setAttribute('aria-valuetext', 'u ' + rollText(u) + ' picks ' + name);
    if (stretch.id !== null) return;
    const asked = u;
    roll(asked, (found, problem) => {
      if (asked !== u) return;
      if (problem) { outcome.firstChild.append(' Which one is not available here: ' + problem); return; }
      known.push(found);
      drawBar();
      say(settled);
    });
  }

  function move(to, settled) {
    u = to;
    place();
    if (u !== null) say(settled);
  }

  drawBar();
  dice.append(track);
  if (open || u !== null) dice.append(mark);
  place();
  dice.append(el('div', 'axis', ...['0', '0.25', '0.5', '0.75', '1'].map((text) => el('span', '', text))), outcome);
  if (!open) return dice;

  mark.setAttribute('role', 'slider');
  mark.setAttribute('aria-label', 'the dice');
  mark.setAttribute('aria-valuemin', '0');
  mark.setAttribute('aria-valuemax', '1');
  mark.setAttribute('aria-valuetext', u === null ? 'not rolled' : 'u ' + rollText(u) + ' picked ' + step.text);
  mark.tabIndex = 0;
  dice.classList.add('open');

  const inside = (number) => Math.min(0.999999, Math.max(0, number));
  const under = (event) => {
    const box = track.getBoundingClientRect();
    return inside((event.clientX - box.left) / box.width);
  };
  let dragging = false;
  dice.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !event.target.closest('.stretches, .roll')) return;
    dragging = true;
    dice.setPointerCapture(event.pointerId);
    mark.focus({ preventScroll: true });
    event.preventDefault();
    move(under(event), false);
  });
  dice.addEventListener('pointermove', (event) => { if (dragging) move(under(event), false); });
  const release = (event) => {
    if (!dragging) return;
    dragging = false;
    move(event.type === 'pointerup' ? under(event) : u, true);
  };
  dice.addEventListener('pointerup', release);
  dice.addEventListener('pointercancel', release);
  mark.addEventListener('keydown', (event) => {
    const from = u === null ? 0.5 : u;
    const fine = event.shiftKey ? 0.001 : 0.01;
    const goals = {
      ArrowRight: from + fine, ArrowUp: from + fine, ArrowLeft: from - fine, ArrowDown: from - fine,
      PageUp: from + 0.1, PageDown: from - 0.1, Home: 0, End: 1,
    };
    if (!(event.key in goals)) return;
    event.preventDefault();
    move(inside(goals[event.key]), true);
  });
  return dice;
}
