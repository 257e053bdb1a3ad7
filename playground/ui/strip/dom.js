// Small makers of elements. Text from a model or a person enters the page here, as text nodes only.

function el(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const child of children) {
    if (child != null) element.append(typeof child === 'object' ? child : String(child));
  }
  return element;
}

// A page that was made a file: it has no server, so nothing in it can go on.
function isAlone() {
  return document.documentElement.dataset.page === 'alone';
}

function heading(title, ...aside) {
  return el('div', 'heading', el('h2', '', title), el('span', 'aside', ...aside));
}

// A token's visible form. Isolated, so that no direction mark inside it reaches its surroundings.
function tokenName(text, special) {
  return el('bdi', special ? 'name special' : 'name', text);
}

// The parts of a sentence: strings, {strong}, {token}.
function sentence(parts) {
  return parts.map((part) => {
    if (typeof part === 'string') return part;
    return part.strong !== undefined ? el('b', '', part.strong) : tokenName(part.token);
  });
}

function bar(className, share) {
  const element = el('i', className);
  element.style.width = Math.max(share > 0 ? 0.8 : 0, share * 100) + '%';
  return element;
}
