// The messages of a chat as a list to edit. `changed()` hears of every change.

function startMessages(list, changed) {
  const roleOf = (row) => row.querySelector('select').value;
  const read = () => [...list.children].map((row) => ({ role: roleOf(row), content: row.querySelector('textarea').value }));

  function grow(field) {
    field.style.height = 'auto';
    if (field.scrollHeight) field.style.height = Math.min(260, field.scrollHeight + 2) + 'px';
  }

  function row({ role, content }) {
    const choice = el('select', '', ...ROLES.map((name) => el('option', '', name)));
    choice.value = ROLES.includes(role) ? role : 'user';
    choice.setAttribute('aria-label', 'who speaks');
    const text = el('textarea', '');
    text.rows = 1;
    text.value = content;
    text.setAttribute('aria-label', 'what is said');
    const away = el('button', 'away quiet', '×');
    away.type = 'button';
    away.title = 'Take this message away';
    away.setAttribute('aria-label', 'take this message away');
    const up = el('button', 'up quiet', '↑');
    up.type = 'button';
    up.title = 'Move this message up';
    up.setAttribute('aria-label', 'move this message up');
    const made = el('div', 'message', el('div', 'who', choice, up, away), text);
    made.dataset.role = choice.value;
    choice.addEventListener('change', () => { made.dataset.role = choice.value; changed(); });
    text.addEventListener('input', () => { grow(text); changed(); });
    away.addEventListener('click', () => {
      const next = made.nextElementSibling || made.previousElementSibling;
      made.remove();
      if (next) next.querySelector('textarea').focus();
      else add({ role: 'user', content: '' });
      changed();
    });
    up.addEventListener('click', () => {
      made.previousElementSibling?.before(made);
      up.focus();
      changed();
    });
    return made;
  }

  function add(message) {
    const made = row(message);
    list.append(made);
    grow(made.querySelector('textarea'));
    return made;
  }

  function set(messages) {
    list.replaceChildren();
    messages.forEach(add);
    changed();
  }

  // The other side answers: after the user the assistant, otherwise the user.
  function more() {
    const said = read();
    const last = said.length ? said[said.length - 1].role : 'assistant';
    add({ role: last === 'user' ? 'assistant' : 'user', content: '' }).querySelector('textarea').focus();
    changed();
  }

  return { read, set, more, refit: () => list.querySelectorAll('textarea').forEach(grow) };
}
