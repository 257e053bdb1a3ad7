// The lanes of the form: cards that can be added, doubled, renamed, taken away, and one that is the reference.

// `on`: {changed() (which cards there are), choose(card), refer()}; `sameDice()`: whether all lanes roll alike.
function startLaneCards(chooser, on, sameDice) {
  let cards = [];
  let reference = null;
  const names = () => cards.map((card) => card.name);
  const acts = {
    changed: () => { tellReferences(); on.renamed(); },
    choose: on.choose,
    seeded: () => !sameDice(),
    duplicate: (card) => add({ name: freeName(card.name, names()), params: { ...card.params } }, cards.indexOf(card) + 1),
    refer: (card) => refer(card),
    remove(card) {
      if (cards.length <= 2) return on.refused('A comparison has at least two lanes.');
      cards = cards.filter((other) => other !== card);
      if (card === reference) refer(cards[0]);
      tellReferences();
      return on.changed();
    },
  };

  function tellReferences() {
    chooser.replaceChildren(...cards.map((card) => {
      const option = el('option', '', card.name);
      option.value = card.number;
      option.selected = card === reference;
      return option;
    }));
  }

  function refer(card) {
    reference = card;
    tellReferences();
    on.refer();
  }

  // A lane that did not run takes the first number that is free.
  function freeNumber() {
    let number = 0;
    while (cards.some((card) => card.number === number) || number < on.taken()) number += 1;
    return number;
  }

  // `number`: of a lane that the server writes already; whatever waits under it takes another.
  function add({ name, params }, at = cards.length, number = null) {
    if (number === null && cards.length >= MOST_LANES) {
      on.refused('A comparison has at most ' + MOST_LANES + ' lanes.');
      return null;
    }
    const card = makeLaneCard({ name, params, number: number ?? freeNumber() }, acts);
    const waiting = cards.filter((other) => other.number === card.number);
    cards = [...cards.slice(0, at), card, ...cards.slice(at)];
    waiting.forEach((other) => other.renumber(freeNumber()));
    tellReferences();
    on.changed();
    return card;
  }

  // Other lanes in place of those that are there.
  function replace(lanes, referenceAt = 0) {
    cards = lanes.map(({ name, params }, number) => makeLaneCard({ name, params: laneParams(params), number }, acts));
    reference = cards[referenceAt] || cards[0];
    tellReferences();
    on.changed();
  }

  chooser.addEventListener('change', () => refer(cards.find((card) => String(card.number) === chooser.value)));
  return {
    add, replace, refer,
    list: () => cards,
    reference: () => reference,
    fresh: () => add({ name: freeName('lane ' + (cards.length + 1), names()), params: laneParams() })?.focus(),
    // Numbers the cards of a run from 0, and after them those that came in the meantime.
    number(ran) {
      [...ran, ...cards.filter((card) => !ran.includes(card))].forEach((card, place) => card.renumber(place));
      tellReferences();
    },
    settings: () => cards.forEach((card) => card.settings()),
  };
}
