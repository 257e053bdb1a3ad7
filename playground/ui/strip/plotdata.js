// Data of the timeline: what playground/figures/timeline.py does, from the board's records. Pure.

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', $: '&#36;', '%': '&#37;', '\n': '⏎' };

// Text that plotly draws letter for letter: no tags, no TeX, no templates (figures/words.py).
function literalText(text) {
  return text.replace(/[&<>$%\n]/g, (sign) => ENTITIES[sign]);
}

// The empty figure `look` filled with the steps of a lane.
function filledTimeline(look, steps, selected) {
  const x = steps.map((step) => step.index + 1);
  const text = steps.map((step) => literalText(step.text));
  const values = [(step) => step.entropy, (step) => step.endProb, (step) => step.prob];
  const data = look.data.map((trace, place) => {
    const y = steps.map(values[place]);
    const said = trace.customdata ? { customdata: y.map((share) => literalText(percent(share))) } : {};
    return { ...trace, x, text, y, ...said, mode: steps.length === 1 ? 'markers' : 'lines' };
  });
  const place = selected == null ? 0 : selected + 1;
  const shapes = [{ ...look.layout.shapes[0], x0: place, x1: place, visible: selected != null }];
  const most = steps.reduce((top, step) => Math.max(top, step.entropy), 0);
  const nats = Math.max(4, 2 * Math.ceil(most / 2));
  const yaxis2 = { ...look.layout.yaxis2, range: [-0.02 * nats, 1.04 * nats], tickvals: [0, nats / 2, nats] };
  return { data, layout: { ...look.layout, shapes, yaxis2 } };
}
