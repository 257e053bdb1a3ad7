// The command line that measures the same. Pure.

// A word as a POSIX shell reads it.
function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

// `flags`: [[name, value]…] of the model; `options`: as a lab describes them; `values`: by name. Only what differs
// from its default is told.
function labCommand(lab, options, values, flags) {
  const words = ['python', '-m', 'playground', 'lab', lab];
  for (const { name, kind, default: usual } of options) {
    const value = values[name];
    if (JSON.stringify(value) === JSON.stringify(usual)) continue;
    const flag = name.replaceAll('_', '-');
    if (kind === 'switch') words.push((value ? '--' : '--no-') + flag);
    else words.push('--' + flag + '=' + String(value === null ? '' : value)); // a list has commas between
  }
  for (const [flag, value] of flags) words.push(flag, value);
  return words.map(shellWord).join(' ');
}

// What a list's field says: numbers where they are some, else the text, for the server to refuse by name.
function listOf(text) {
  return text.split(/[\s,;]+/).filter(Boolean).map((part) => (Number.isFinite(Number(part)) ? Number(part) : part));
}

// The limits of an option, for people.
function limitsOf({ kind, low, high, most }) {
  if (kind === 'switch') return '';
  if (kind === 'text') return high === null ? '' : 'at most ' + count(high) + ' characters';
  const range = low !== null && high !== null ? bound(low) + ' to ' + bound(high) : low !== null ? 'from ' + bound(low) : high !== null ? 'up to ' + bound(high) : '';
  return kind === 'list' ? 'at most ' + most + ' numbers' + (range && ', each ' + range) : range;
}

function bound(value) {
  return Number.isInteger(value) ? count(value) : String(value);
}
