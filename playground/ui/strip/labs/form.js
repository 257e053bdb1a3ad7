// The form of a lab, made of what it says of its options.

// `changed()` hears each edit. Returns {element, values(), refuse(name, why), lock(going)}.
function makeLabForm(options, changed) {
  const fields = new Map(options.map((option) => [option.name, makeField(option, edited)]));
  const element = el('form', 'asked', ...[...fields.values()].map((field) => field.element));
  element.addEventListener('submit', (event) => event.preventDefault());

  function edited(name) {
    fields.get(name).refuse('');
    changed();
  }

  return {
    element,
    values: () => Object.fromEntries([...fields].map(([name, field]) => [name, field.value()])),
    // Gives false where there is no such option.
    refuse(name, why) {
      for (const field of fields.values()) field.refuse('');
      if (!fields.has(name)) return false;
      fields.get(name).refuse(why);
      fields.get(name).input.focus();
      return true;
    },
    clear() { for (const field of fields.values()) field.refuse(''); },
  };
}

function makeField(option, edited) {
  const { name, kind, label, hint } = option;
  const long = kind === 'text' && (option.high === null || option.high > 120);
  const input = el(long ? 'textarea' : 'input');
  input.id = 'lab-' + name;
  if (long) input.rows = 2;
  else input.type = { switch: 'checkbox', whole: 'number', number: 'number' }[kind] || 'text';
  if (input.type === 'number') {
    if (option.low !== null) input.min = option.low;
    if (option.high !== null) input.max = option.high;
    input.step = kind === 'whole' ? 1 : 'any';
  } else if (kind !== 'switch') Object.assign(input, { spellcheck: false, autocomplete: 'off' });
  if (kind === 'switch') input.checked = option.default;
  else input.value = kind === 'list' ? option.default.join(', ') : option.default;

  const fault = el('small', 'fault');
  fault.id = input.id + '-fault';
  fault.setAttribute('role', 'alert');
  const told = [hint, limitsOf(option)].filter(Boolean).join(' · ');
  const about = el('small', 'about', told);
  about.id = input.id + '-about';
  input.setAttribute('aria-describedby', about.id + ' ' + fault.id);
  const words = label.charAt(0).toUpperCase() + label.slice(1);
  const named = kind === 'switch' ? el('label', 'tick', input, ' ' + words) : el('label', '', el('span', '', words), input);
  const element = el('div', 'field', named, told ? about : null, fault);
  element.dataset.kind = kind;
  if (long) element.classList.add('long');
  input.addEventListener('input', () => edited(name));

  const readers = {
    switch: () => input.checked,
    whole: () => (input.value === '' ? null : Number(input.value)),
    number: () => (input.value === '' ? null : Number(input.value)),
    text: () => input.value,
    list: () => listOf(input.value),
  };
  return {
    element,
    input,
    value: readers[kind],
    refuse(why) {
      const told = why.startsWith(name + ' ') ? words + why.slice(name.length) : why; // as the form calls it
      fault.textContent = told && told.charAt(0).toUpperCase() + told.slice(1) + '.';
      input.toggleAttribute('aria-invalid', Boolean(why));
    },
  };
}
