// The header: which model, how far it is, and the switch between light and dark.

function startHeader(element, props, watch) {
  const chip = element.querySelector('#model');

  function show(text) {
    if (!text) return;
    const { state, name, facts, share } = JSON.parse(text);
    chip.dataset.state = state;
    chip.replaceChildren(el('b', '', name), el('span', 'details', facts ? ' · ' + facts : ''));
    chip.title = name + (facts ? ' · ' + facts : '');
    chip.style.setProperty('--share', share * 100 + '%');
  }

  element.querySelector('.theme').addEventListener('click', () => {
    const dark = document.body.classList.toggle('dark');
    try { localStorage.setItem('playground-theme', dark ? 'dark' : 'light'); } catch { /* a private window */ }
  });
  let chosen = null;
  try { chosen = localStorage.getItem('playground-theme'); } catch { /* a private window */ }
  if (chosen) document.body.classList.toggle('dark', chosen === 'dark');

  watch('value', () => show(props.value));
  show(props.value);
}
