// Numbers for people. Pure.

// A share from 0 to 1. Never blank and never a false 0 or 100: the ends say that they are ends.
function percent(share) {
  if (share === 0) return '0%';
  if (share < 0.0001) return '<0.01%';
  if (share < 0.01) return (share * 100).toFixed(2) + '%';
  if (share > 0.9999 && share < 1) return '>99.99%';
  if (share > 0.999 && share < 1) return (Math.floor(share * 10000) / 100).toFixed(2) + '%';
  return (share * 100).toFixed(1).replace(/^100\.0$/, '100') + '%';
}

function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function milliseconds(number) {
  if (number == null) return '–';
  if (number >= 1000) return (number / 1000).toFixed(number >= 10000 ? 1 : 2) + ' s';
  return (number >= 10 ? number.toFixed(0) : number.toFixed(1)) + ' ms';
}

function bytesize(number) {
  if (number < 1024) return number + ' B';
  const units = ['KB', 'MB', 'GB', 'TB'];
  let power = -1;
  do { number /= 1024; power += 1; } while (number >= 1024 && power < 3);
  return number.toFixed(number < 10 ? 1 : 0) + ' ' + units[power];
}

// Both ends of an interval and the roll in it, with as many digits as tell them apart.
function interval(low, high, roll) {
  const width = Math.max(high - low, 1e-10);
  const digits = Math.min(10, Math.max(3, 1 - Math.floor(Math.log10(width))));
  return [low, high, roll].map((number) => (number == null ? null : number.toFixed(digits)));
}
