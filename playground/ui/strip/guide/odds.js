// Rows and bars of the guide's pictures.

// What a row is about, a bar, and a number in words. `name`: text, or an element as of a token; `share` in [0, 1] is the
// bar's; `chosen` rows stand in amber.
function guideOdds(name, share, words, chosen = false) {
  return el('div', 'guide-odds' + (chosen ? ' chosen' : ''), typeof name === 'string' ? el('span', 'name', name) : name,
    el('span', 'mini' + (chosen ? ' other' : ''), bar('', share)), el('span', 'odd', words));
}

// A bar of parts side by side: [[kind, share of the whole width]…]; what a kind looks like stands in guide.css.
function guideParts(parts) {
  return el('span', 'guide-parts', ...parts.filter(([, share]) => share > 0).map(([kind, share]) => bar('guide-' + kind, share)));
}

// What a colour of such a bar means.
function guideKey(kind, words) {
  return el('span', 'guide-key', el('i', 'guide-' + kind), words);
}

// A slider with its value in its words: `parts(value)` gives them, `show(value)` draws what depends on it.
function guideSlider(settings, parts, show) {
  const slider = Object.assign(el('input'), { type: 'range', ...settings });
  const words = el('span', '');
  const move = () => {
    words.replaceChildren(...parts(Number(slider.value)));
    show(Number(slider.value));
  };
  slider.addEventListener('input', move);
  move();
  return el('label', 'guide-slider', words, slider);
}
