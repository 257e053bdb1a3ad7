// A row of a picture of the guide: what it is about, a bar, and a number in words.

// `name`: text, or an element as of a token; `share` in [0, 1] is the bar's; `chosen` rows stand in amber.
function guideOdds(name, share, words, chosen = false) {
  return el('div', 'guide-odds' + (chosen ? ' chosen' : ''), typeof name === 'string' ? el('span', 'name', name) : name,
    el('span', 'mini' + (chosen ? ' other' : ''), bar('', share)), el('span', 'odd', words));
}
