// The table of numbers: its columns, their units, their order. Pure.

const shortly = (number, digits) => (number == null ? '–' : number.toFixed(digits));
const inMilliseconds = (seconds) => (seconds == null ? null : seconds * 1000);

// `of` gives what is sorted by, `text` what is read. Without `text` it is read as it is.
const NUMBERS = [
  { key: 'tokens', label: 'tokens', of: (row) => row.tokens, text: (row) => count(row.tokens) },
  { key: 'mean_logprob', label: 'mean logprob', unit: 'raw, nats', of: (row) => row.mean_logprob, text: (row) => shortly(row.mean_logprob, 2) },
  { key: 'perplexity', label: 'perplexity', unit: 'raw', of: (row) => row.perplexity, text: (row) => shortly(row.perplexity, 2) },
  { key: 'mean_entropy', label: 'mean entropy', unit: 'raw, nats', of: (row) => row.mean_entropy, text: (row) => shortly(row.mean_entropy, 2) },
  { key: 'rank1_share', label: 'rank-1 picks', unit: 'share', of: (row) => row.rank1_share, text: (row) => (row.rank1_share == null ? '–' : percent(row.rank1_share)) },
  { key: 'median_kept', label: 'tokens kept', unit: 'median', of: (row) => row.median_kept, text: (row) => (row.median_kept == null ? '–' : count(row.median_kept)) },
  { key: 'distinct_words', label: 'distinct words', unit: 'of all words', of: (row) => row.distinct_words, text: (row) => count(row.distinct_words) + ' of ' + count(row.words) },
  { key: 'repeated_4grams', label: 'repeats', unit: '4-grams of tokens', of: (row) => row.repeated_4grams, text: (row) => count(row.repeated_4grams) },
  { key: 'ttft_s', label: 'first token', unit: 'after', of: (row) => row.ttft_s, text: (row) => milliseconds(inMilliseconds(row.ttft_s)) },
  { key: 'tpot_s', label: 'each token', unit: 'mean of later ones', of: (row) => row.tpot_s, text: (row) => milliseconds(inMilliseconds(row.tpot_s)) },
  { key: 'reason', label: 'stopped by', of: (row) => REASONS[row.reason] || row.reason },
];

// All columns for these rows: the name, the settings that differ between them, the numbers.
function columnsFor(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.settings)))];
  const settings = names.map((name) => ({
    key: 'setting ' + name, label: settingLabel(name), unit: 'setting', setting: true, of: (row) => row.settings[name] ?? null,
    text: (row) => (row.settings[name] == null ? '–' : settingText(row.settings[name])),
  }));
  return [{ key: 'name', label: 'lane', of: (row) => row.name }, ...settings, ...NUMBERS];
}

function settingText(value) {
  if (typeof value === 'object') return JSON.stringify(value);
  return plainNumber(value);
}

// Places of the rows in the order of a column; what is not known comes last either way.
function sortedPlaces(rows, column, descending) {
  const values = rows.map(column.of);
  const compare = (one, other) => (typeof one === 'number' && typeof other === 'number' ? one - other
    : String(one).localeCompare(String(other), undefined, { numeric: true }));
  return rows.map((_, place) => place).sort((a, b) => {
    if (values[a] == null || values[b] == null) return (values[a] == null) - (values[b] == null) || a - b;
    return (descending ? -1 : 1) * compare(values[a], values[b]) || a - b;
  });
}
