// What kind of run is on the screen, where it is not simply the visitor's own.

function showNotice(place, run) {
  const { recorded } = run;
  place.hidden = !recorded;
  if (!recorded) return;
  const words = 'Recorded run of ' + recorded.model + ', seed ' + recorded.seed + '.';
  place.replaceChildren(el('b', '', words), ' Every token can be opened. Generate puts a live run in its place.');
}
